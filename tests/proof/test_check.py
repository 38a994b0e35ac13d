"""The checker refuses what is damaged, and its balls contain what they stand for."""

from __future__ import annotations

import ast
import copy
import random
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.optimize import brentq
from support.marks import many

import parkade as pk
from parkade.proof import check as folder
from parkade.proof.check import balls
from parkade.proof.check.balls import Directions, RefusedError
from parkade.proof.check.gathering import Gathering
from parkade.proof.check.life import Life
from parkade.proof.check.verdict import check, follow
from parkade.proof.taylor import polynomials

STANDARD = {"__future__", "collections", "itertools", "math", "typing", "flint"}


@pytest.fixture(scope="module")
def data():
    certificate = pk.certify(pk.sphere.uniform(6, 2, seed=2), beta=12.0, t_end=1e30)
    assert certificate.why == ""
    assert len(certificate.merges) >= 2
    return certificate.data


def test_the_checker_needs_nothing_of_the_rest():
    """It shares no code with what finds proofs: only flint, Python, and itself."""
    home = Path(folder.__file__).parent
    for path in home.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= STANDARD
            if isinstance(node, ast.ImportFrom):
                own = node.module.startswith("parkade.proof.check.")
                assert own or node.module.split(".")[0] in STANDARD


def test_an_intact_certificate_is_accepted(data):
    assert check(data) == {name: data[name] for name in ("plateaus", "merges", "until")}


def scaled(text, factor):
    return (float.fromhex(text) * factor).hex()


def bounds(data):
    """Places of all proved times: the list, the index and the name."""
    for name, keys in (("plateaus", ("start", "end")), ("merges", ("earliest", "latest"))):
        for i in range(len(data[name])):
            yield from ((name, i, key) for key in keys)


def damages(data):
    """Functions that damage a certificate in one place, by name."""
    for name, i, key in bounds(data):
        for factor in (0.99, 1.01):

            def move(one, name=name, i=i, key=key, factor=factor):
                one[name][i][key] *= factor

            yield f"{name} {i} {key} times {factor}", move
    # Without a clock's step the next one may prove the same; in another order none does.
    for i, (step, then) in enumerate(pairwise(data["life"])):
        if "join" in step:
            yield f"life without {i}", lambda one, i=i: one["life"].pop(i)
            yield f"life without {i + 1}", lambda one, i=i: one["life"].pop(i + 1)
        elif "clock" in step and step["clock"] == then.get("clock") and i % 5 == 0:

            def exchange(one, i=i):
                one["life"][i], one["life"][i + 1] = one["life"][i + 1], one["life"][i]

            yield f"life {i} and {i + 1} exchanged", exchange
    for i in range(0, len(data["gathering"]), max(1, len(data["gathering"]) // 10)):
        yield f"gathering without {i}", lambda one, i=i: one["gathering"].pop(i)
        yield (
            f"gathering {i} longer",
            lambda one, i=i: one["gathering"][i].update(
                length=scaled(one["gathering"][i]["length"], 1.01)
            ),
        )

        def bend(one, i=i):
            one["gathering"][i]["places"][3][1] += 2**30

        yield f"gathering {i} bent", bend
    for i, j in ((0, 1), (1, 2), (2, 4), (3, 4)):

        def swap(one, i=i, j=j):
            one["tokens"][i], one["tokens"][j] = one["tokens"][j], one["tokens"][i]

        yield f"tokens {i} and {j} swapped", swap
    for name in ("beta", "radius", "t_end"):
        for factor in (0.5, -1.0) if name == "radius" else (0.99, 1.01, -1.0):
            yield (
                f"{name} times {factor}",
                lambda one, n=name, f=factor: one.update({n: scaled(one[n], f)}),
            )
    for name in ("tokens", "gathering", "clusters", "life", "plateaus", "merges", "beta"):
        yield f"no {name}", lambda one, n=name: one.pop(n)
        yield f"{name} is text", lambda one, n=name: one.update({n: "text"})
    for i in range(len(data["merges"])):
        for key in ("absorbed", "into"):

            def other(one, i=i, key=key):
                one["merges"][i][key] += 1

            yield f"merge {i}: another token {key}", other
    yield "a cluster fewer", lambda one: one["clusters"].pop()
    yield "a leader more", lambda one: one["plateaus"][0]["leaders"].append(4)
    yield "a later end", lambda one: one.update(until=one["until"] * 2)


def test_damaged_certificates_are_refused(data):
    accepted, count = [], 0
    for name, damage in damages(data):
        one = copy.deepcopy(data)
        damage(one)
        count += 1
        try:
            check(one)
        except RefusedError:
            continue
        accepted.append(name)
    assert accepted == []
    assert count >= 80


# --- balls --------------------------------------------------------------------------------


def inside(ball, number):
    """Whether a ball contains a number of mpmath."""
    low, high = (exactly(end) for end in (ball.lower(), ball.upper()))
    return low <= number <= high


def exactly(end):
    """A dyadic number of Arb as one of mpmath."""
    mantissa, exponent = end.man_exp()
    return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def test_balls_contain_what_they_stand_for():
    """Weights, their bounds from below, and turns, at random points of random balls."""
    draw = random.Random(1)
    with mpmath.workdps(60):
        for _ in range(many(2000, 300_000)):
            beta = draw.choice([0.5, 4.0, 64.0, 256.0])
            tokens = object.__new__(Directions)
            tokens.beta = arb(beta)
            low = draw.uniform(-1.0, 3.0)
            high = min(3.1, low + 10 ** draw.uniform(-12, 0))
            x = mpmath.mpf(low) + mpmath.mpf(draw.random()) * (mpmath.mpf(high) - mpmath.mpf(low))
            w = mpmath.exp(mpmath.mpf(beta) * (mpmath.cos(x) - 1))
            h = w * mpmath.sin(x)
            ball = balls.between(low, high)
            weight, pull = tokens.weights(ball)
            assert inside(weight, w)
            assert inside(pull, h)
            assert inside(balls.above(pull), abs(h)) or balls.above(pull) >= float(abs(h))
            life = object.__new__(Life)
            life.tokens = tokens
            least, most = life.inwards(arb(low), arb(high))
            assert exactly(least) <= h
            assert w <= exactly(most)
            turns = draw.randint(-5, 5)
            moved = balls.turned(ball + 2 * turns * arb.pi())
            assert inside(moved, x) or inside(moved + 2 * arb.pi(), x)


def test_polynomials_are_taylor_s():
    """Against differences of a precise run; and the order of what is left out."""
    x0, beta, degree = pk.sphere.uniform(20, 2, seed=1), 16.0, 5
    angles = np.arctan2(x0[:, 1], x0[:, 0])
    taylor = polynomials(angles, beta, degree)
    errors = []
    for length in (0.2, 0.1, 0.05):
        end = (taylor * length ** np.arange(degree + 1)[:, None]).sum(axis=0)
        run = pk.simulate(pk.Attention(2, beta), x0, length, tol=1e-13, times="final")
        gap = end - np.arctan2(run.final[:, 1], run.final[:, 0])
        errors.append(np.abs(np.angle(np.exp(1j * gap))).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx(degree + 1, abs=0.7)


def test_tubes_are_left_where_polynomials_are_wrong(data):
    tokens = Directions(data)
    step = copy.deepcopy(data["gathering"][0])
    Gathering(tokens, data["bits"]).take(step)
    step["places"][4] = [step["places"][4][0], *(2 * c for c in step["places"][4][1:])]
    with pytest.raises(RefusedError, match="token 4 may leave its tube"):
        Gathering(tokens, data["bits"]).take(step)


def test_errors_of_a_gathering_bound_those_of_the_polynomials(data):
    """At the end of each step, against a run with all digits."""
    tokens = Directions(data)
    gathering = Gathering(tokens, data["bits"])
    x0 = np.array([[float.fromhex(c) for c in row] for row in data["tokens"]])
    for step in data["gathering"][:40]:
        gathering.take(step)
        t = float(gathering.time)
        final = pk.simulate(pk.Attention(2, tokens.beta.__float__()), x0, t, tol=1e-13).final
        gap = np.arctan2(final[:, 1], final[:, 0]) - np.array([float(e) for e in gathering.ends])
        error = np.abs(np.angle(np.exp(1j * gap)))
        assert (error <= np.array([float(e) for e in gathering.errors]) + 3e-11).all()


def test_leaders_are_where_a_run_has_them():
    """Two leaders come to a third: whenever the clock is at its mark, all are in their balls."""
    angles, beta = [0.0, 1.3, -1.4, 2.6, 0.05, 1.25, -1.45], 16.0
    x0 = pk.sphere.from_angles(angles)
    data = pk.certify(x0, beta, 1e4).data
    run = pk.simulate(pk.Attention(2, beta), x0, 2e4, tol=1e-13)
    gathering = Gathering(Directions(data), data["bits"])
    for step in data["gathering"]:
        gathering.take(step)
    life, compared = Life(gathering, {group[0]: list(group) for group in data["clusters"]}), 0

    def behind(t, k, place):
        x, y = run.at([t])[0, k]
        return np.angle(np.exp(1j * (np.arctan2(y, x) - place)))

    for step in data["life"]:
        follow(life, step)
        start, end = float(life.time[0]) * (1 - 1e-9), float(life.time[1]) * (1 + 1e-9)
        if "clock" not in step or end > 1e4:
            continue
        mark = float.fromhex(step["to"])
        t = brentq(behind, start, end, args=(step["clock"], mark), xtol=1e-9, rtol=1e-14)
        for u, ball in life.place.items():
            assert abs(behind(t, u, float(ball.mid()))) <= float(ball.rad()) + 1e-8
            compared += 1
    assert compared > 100
