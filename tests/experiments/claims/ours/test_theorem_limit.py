import dataclasses

import numpy as np
import pytest
from support.experiments import fewer

import parkade as pk
from parkade.experiments.claims.ours import theorem_limit
from parkade.model import sphere

quick = fewer(2)  # three starts


@pytest.fixture(scope="module")
def evidence(quick):
    return theorem_limit.measure(quick)


def test_the_limit_describes_runs(evidence, presentable):
    assert evidence.verdict == "agrees"
    rows = evidence.numbers["series"]
    assert len(rows) == len(theorem_limit.BETAS) * 2
    assert sum(row["merges"] for row in rows) > 100
    # The leading order comes near the limit like ln β / β, and the next order sooner.
    for row, one in zip(rows, evidence.data["merges"], strict=True):
        assert 0.5 < -row["leading"]["over ln β/β"] < 1.5
        assert row["rest"]["median"] < -0.2 * one.beta * row["leading"]["mean"]
        assert row["exact"]["median"] < 0.1 * row["rest"]["median"]
    assert len(presentable(theorem_limit.CLAIM, evidence).axes) == 3


def nearest(start):
    """The initial token that is nearest to each, of those before it, instead of growing cars."""
    true = true_cars(start)
    partner = np.array(
        [-1, *(sphere.distance(start[:s], start[s]).argmin() for s in range(1, len(start)))]
    )
    return true._replace(partner=partner)


def from_the_end(start):
    """Growing cars of the tokens in reversed order, with the names that they have in this one."""
    last = len(start) - 1
    length, partner, mass = true_cars(start[::-1])
    named = np.where(partner < 0, -1, last - partner)
    length, mass = np.minimum(length, 3.0), np.maximum(mass, 1)  # its first token has neither
    return theorem_limit.Cars(length[::-1], named[::-1], mass[::-1])


def to_leading_order(beta, length, mass):
    """The limit of ln T/β, taken for all of ln T."""
    return beta * (1 - np.cos(length))


true_cars = theorem_limit.cars


@pytest.mark.parametrize(
    "wrong", [{"cars": nearest}, {"cars": from_the_end}, {"log_time": to_leading_order}]
)
def test_wrong_versions_are_refuted(wrong, verdict, evidence):
    assert verdict(theorem_limit, **wrong) == "contradicts"


def test_cars_by_hand():
    """Token 4 is nearer to 3 than to 1, but 3 has left by then: it joins 0 and 2, which are one."""
    law = theorem_limit.cars(pk.sphere.from_angles([0.0, 3.0, 0.1, 0.9, 1.9]))
    assert law.length == pytest.approx([np.inf, 3.0, 0.1, 0.9, 1.1])
    assert law.partner.tolist() == [-1, 0, 0, 0, 1]
    assert law.mass.tolist() == [0, 1, 1, 2, 1]


def test_bars(evidence):
    one = evidence.data["merges"][0]
    assert one.beta == 20.0

    def times(total, factor):
        length, mass = np.ones(total), np.ones(total)
        when = theorem_limit.log_time(20.0, length, mass) + factor / 20.0
        all_right = np.ones(total, dtype=bool)
        return theorem_limit.judge_times(
            dataclasses.replace(one, right=all_right, log_time=when, length=length, mass=mass)
        )

    assert [times(100, factor) for factor in (7.0, 9.0)] == ["agrees", "contradicts"]
    assert times(10, 9.0) == "undecided"  # so few have such a median by chance
    partners = [theorem_limit.judge_partners(np.arange(100) < right) for right in (95, 90, 60)]
    assert partners == ["agrees", "undecided", "contradicts"]


def test_masses_are_those_of_simulated_clusters():
    """Of tokens before s, as many are with its partner when it arrives as the start says."""
    start, beta = pk.sphere.uniform(12, 2, seed=3), 160.0
    law = theorem_limit.cars(start)
    tree = pk.simulate(pk.Attention(2, beta), start, 1e140, tol=1e-8).merge_tree()
    late = [event for event in tree.events if event.time > 100]
    assert len(late) >= 5
    for event in late:
        s = event.absorbed
        before = tree.labels(event.time * (1 - 1e-6))[:s]
        assert law.partner[s] == event.into
        assert law.mass[s] == (before == event.into).sum()
