"""First speeds are as derived, and wrong ones refuted."""

from support.experiments import measured

from parkade.experiments.claims.field import norm_start

evidence = measured(norm_start)


def test_first_speeds_are_as_derived(evidence, presentable):
    # Fails by chance with a probability of 1e-6.
    assert evidence.verdict == "agrees"
    assert evidence.numbers["orthogonal_error"] < 1e-14
    speed = {(one["d"], one["n"]): one for one in evidence.numbers["speeds"]}
    assert speed[256, 64]["post"] < 0.13
    assert speed[256, 64]["ngpt_alpha_1"] > 0.9
    assert speed[16, 64]["ngpt_alpha_1"] < 0.8  # too many tokens for so few dimensions
    presentable(norm_start.CLAIM, evidence)


def test_a_wrong_speed_of_orthogonal_tokens_is_refuted(distort, verdict):
    distort(norm_start, "orthogonal_speed", lambda speed: 1.000001 * speed)
    assert verdict(norm_start, NUMBERS=(16,), DIMENSIONS=(16,)) == "contradicts"


def test_a_wrong_speed_of_random_tokens_is_refuted(quick, monkeypatch):
    # Full speed, however many tokens there are.
    monkeypatch.setattr(norm_start, "NUMBERS", (64,))
    monkeypatch.setattr(norm_start, "DIMENSIONS", (16,))
    tangent = norm_start.random_force(64, 16)[0]
    monkeypatch.setattr(norm_start, "random_force", lambda n, d: (tangent, tangent))
    wrong = norm_start.measure(quick)
    assert wrong.numbers["orthogonal_error"] < 1e-14
    assert wrong.verdict == "contradicts"
