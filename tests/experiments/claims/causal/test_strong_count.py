"""Lemma C.1's experiment: right, and able to say no."""

from support.experiments import fewer, measured

from parkade import theory
from parkade.experiments.claims.causal import strong_count

quick = fewer(2)  # half of the samples: a count three percent off is still refuted
evidence = measured(strong_count)


def test_counts_agree(evidence):
    # Fails by chance with a probability of 1e-6: see allowed_sigmas.
    assert evidence.verdict == "agrees"
    assert evidence.numbers["samples"] == 1000
    assert evidence.false_alarm <= 1e-6


def test_a_count_off_by_three_percent_is_contradicted(distort, verdict):
    distort(theory, "expected_strong_centers", lambda count: 1.03 * count)
    assert verdict(strong_count, DIMENSIONS={2: strong_count.DIMENSIONS[2]}) == "contradicts"


def test_it_can_be_drawn(evidence, drawn):
    assert len(drawn(strong_count.CLAIM, evidence).axes[0].get_lines()) >= 3
