"""Certificates on spheres of any dimension, against closed forms, the circle, and other solvers."""

from __future__ import annotations

import copy
import random

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from scipy.integrate import solve_ivp
from scipy.stats import ortho_group
from support.marks import many

import parkade as pk
from parkade.proof.certificate import checked, read
from parkade.proof.check import balls, points
from parkade.proof.check.balls import RefusedError
from parkade.proof.check.points import Points, Swarm, Vector
from parkade.proof.check.sphere_gathering import SphereGathering
from parkade.proof.check.verdict import check
from parkade.proof.sphere_taylor import polynomials


@pytest.fixture(autouse=True)
def precision():
    """The precision of the checker."""
    ctx.prec = balls.BITS


@pytest.fixture(scope="module")
def eight():
    """A certificate for eight tokens on S², to the end of time."""
    certificate = pk.certify(pk.sphere.uniform(8, 3, seed=4), beta=16.0)
    assert certificate.why == ""
    assert len(certificate.merges) >= 2
    return certificate


def rotation(d, seed):
    """A random rotation of the space."""
    return ortho_group.rvs(d, random_state=seed)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def as_points(x, beta):
    """Tokens as the checker has them."""
    rows = [[float(c).hex() for c in row] for row in x]
    return Points({"beta": float(beta).hex(), "tokens": rows, "radius": (0.05).hex()})


# --- lives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "beta", "angle"), [(3, 16.0, 1.5), (3, 64.0, 2.6), (6, 8.0, 2.2)])
def test_two_tokens_meet_when_the_integral_says(d, beta, angle):
    x0 = unit(np.eye(2, d) * [[1.0], [np.sin(angle)]] + np.eye(2, d, -1) * 0)
    x0[1, 0] = np.cos(angle)
    x0 = unit(x0 @ rotation(d, 1))
    certificate = pk.certify(x0, beta)
    (merge,) = certificate.merges
    with mpmath.workdps(50):
        one, two = ([mpmath.mpf(float(c)) for c in row] for row in x0)
        one, two = ([c / mpmath.norm(row) for c in row] for row in (one, two))
        start = mpmath.acos(sum(a * b for a, b in zip(one, two, strict=True)))

        def slowness(x):
            weight = mpmath.exp(beta * (mpmath.cos(x) - 1))
            return (1 + weight) / (weight * mpmath.sin(x))

        ends = mpmath.linspace(mpmath.mpf(certificate.radius), start, 50)
        time = mpmath.quad(slowness, ends)
    assert merge.earliest <= time <= merge.latest
    assert merge.latest / merge.earliest < 1 + 0.02 + 60 / float(time)
    assert certificate.plateaus[-1].clusters == 1
    assert certificate.until == pytest.approx(1e60)


@pytest.mark.parametrize("d", [3, 5])
def test_tokens_of_a_great_circle_merge_as_on_the_circle(d):
    flat = pk.sphere.uniform(7, 2, seed=2)
    plane = rotation(d, 3)[:2]
    circle, sphere = pk.certify(flat, 12.0), pk.certify(unit(flat @ plane), 12.0)
    assert circle.why == sphere.why == ""
    assert [(m.absorbed, m.into) for m in sphere.merges] == [
        (m.absorbed, m.into) for m in circle.merges
    ]
    for one, other in zip(circle.merges, sphere.merges, strict=True):
        assert max(one.earliest, other.earliest) <= min(one.latest, other.latest)


@pytest.mark.parametrize(
    ("n", "d", "beta", "seed"), [(12, 3, 32.0, 0), (12, 3, 16.0, 0), (8, 5, 16.0, 3)]
)
def test_simulated_merges_are_inside_their_bounds(n, d, beta, seed):
    x0 = pk.sphere.uniform(n, d, seed=seed)
    certificate = pk.certify(x0, beta)
    assert certificate.why == ""
    run = pk.simulate(pk.Attention(d, beta), x0, 1e60, tol=1e-10)
    tree = run.merge_tree(radius=certificate.radius)
    times = {one.absorbed: one.time for one in tree.events}
    assert certificate.agrees(run)
    for merge in certificate.merges:
        assert merge.earliest <= times[merge.absorbed] <= merge.latest
    for state in certificate.plateaus:
        middle = np.sqrt(state.start * state.end)
        assert tree.count(middle) == state.clusters == len(state.leaders)
    assert certificate.plateaus[-1].leaders == (0,)


def test_three_tokens_are_where_another_solver_has_them():
    """The last token is pulled by two; the solver knows nothing of parkade."""
    x0 = unit(np.array([[1.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.5, 0.5, 0.8]]))
    beta, radius = 8.0, 0.05
    certificate = pk.certify(x0, beta, 1e4, radius=radius)
    solution = solve_ivp(
        lambda t, x: velocity(x.reshape(3, 3), beta).ravel(), (0, 1e4), x0.ravel(),
        method="Radau", rtol=1e-11, atol=1e-12, dense_output=True,
    )  # fmt: skip
    times = np.geomspace(1, 1e4, 200_000)
    x = unit(solution.sol(times).T.reshape(-1, 3, 3))
    assert {(one.absorbed, one.into) for one in certificate.merges} >= {(1, 0)}
    for merge in certificate.merges:
        k = merge.absorbed
        chords = np.linalg.norm(x[:, :k] - x[:, [k]], axis=2).min(axis=1)
        joined = times[np.flatnonzero(2 * np.arcsin(chords / 2) > radius)[-1] + 1]
        assert merge.earliest * (1 - 1e-4) <= joined <= merge.latest * (1 + 1e-4)


def test_a_rotated_start_has_the_same_merges(eight):
    x0 = np.array([[float.fromhex(c) for c in row] for row in eight.data["tokens"]])
    turned = pk.certify(unit(x0 @ rotation(3, 7)), eight.beta)
    assert turned.why == ""
    for one, other in zip(eight.merges, turned.merges, strict=True):
        assert (one.absorbed, one.into) == (other.absorbed, other.into)
        assert max(one.earliest, other.earliest) <= min(one.latest, other.latest)


def test_what_cannot_be_proved_is_named():
    """Token 2 is on the watershed between two others, where no error is small enough."""
    low, high = -0.1, 0.1
    for _ in range(60):
        middle = (low + high) / 2
        x0 = unit(np.array([[1.0, 0.0, 0.6], [-1.0, 0.0, 0.6], [middle, 0.2, 1.0]]))
        final = pk.simulate(pk.Attention(3, 16.0), x0, 1e4, times="final", tol=1e-10).final
        low, high = (low, middle) if final[2] @ final[0] > final[2] @ final[1] else (middle, high)
    certificate = pk.certify(x0, beta=16.0, t_end=1e6)
    assert certificate.until < 1e6
    assert certificate.why
    assert certificate.why in str(certificate)
    checked(certificate.data)


def test_the_end_may_come_before_the_last_merge(eight):
    x0 = pk.sphere.uniform(8, 3, seed=4)
    end = eight.merges[-1].earliest / 10
    certificate = pk.certify(x0, 16.0, t_end=end)
    assert certificate.why == ""
    assert certificate.plateaus[-1].clusters > 1
    assert certificate.until == pytest.approx(end)
    checked(certificate.data)


def test_leaders_that_meet_nobody_rest():
    """Before t_end nothing happens: no merge is expected, and yet the plateau is proved."""
    x0 = unit(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 1.0]]))
    certificate = pk.certify(x0, beta=64.0, t_end=1e20)
    assert certificate.why == ""
    assert [state.clusters for state in certificate.plateaus] == [3]
    assert certificate.until == pytest.approx(1e20)


def test_files_and_figures_are_those_of_the_circle(eight, tmp_path):
    eight.save(tmp_path / "eight.json")
    again = checked(read(tmp_path / "eight.json"))
    assert again.to_dict() == eight.to_dict()
    assert str(again) == str(eight)
    assert str(eight).splitlines()[0] == "Proved for 8 tokens with β = 16, from t = 0 to 1e+60"
    assert len(pk.plots.proved(eight).patches) == len(eight.merges)


# --- damage ---------------------------------------------------------------------------------


def damages(data):
    """Functions that damage a certificate in one place, by name."""
    for name, keys in (("plateaus", ("start", "end")), ("merges", ("earliest", "latest"))):
        for i in range(len(data[name])):
            for key in keys:
                for factor in (0.99, 1.01):

                    def move(one, name=name, i=i, key=key, factor=factor):
                        one[name][i][key] *= factor

                    yield f"{name} {i} {key} times {factor}", move
    moves = [i for i, step in enumerate(data["life"]) if "clock" in step or "join" in step]
    for i in moves[:: max(1, len(moves) // 12)]:
        yield f"life without {i}", lambda one, i=i: one["life"].pop(i)
    for i in range(0, len(data["gathering"]), max(1, len(data["gathering"]) // 6)):
        yield f"gathering without {i}", lambda one, i=i: one["gathering"].pop(i)

        def stretch(one, i=i):
            step = one["gathering"][i]
            step["length"] = (1.01 * float.fromhex(step["length"])).hex()

        yield f"gathering {i} longer", stretch

        def bend(one, i=i):
            row = one["gathering"][i]["places"][3][1]
            row[-1] += 2**40

        yield f"gathering {i} bent", bend
    for i, j in ((0, 1), (1, 2), (2, 4)):

        def swap(one, i=i, j=j):
            one["tokens"][i], one["tokens"][j] = one["tokens"][j], one["tokens"][i]

        yield f"tokens {i} and {j} swapped", swap
    for name in ("beta", "t_end"):
        for factor in (0.99, 1.01, -1.0):

            def change(one, name=name, factor=factor):
                one[name] = (factor * float.fromhex(one[name])).hex()

            yield f"{name} times {factor}", change

    def project(one):
        one["tokens"] = [row[:2] for row in one["tokens"]]

    yield "tokens of the circle", project
    yield "a coordinate fewer", lambda one: one["tokens"][3].pop()
    for name in ("tokens", "gathering", "clusters", "life", "plateaus", "merges"):
        yield f"no {name}", lambda one, n=name: one.pop(n)
        yield f"{name} is text", lambda one, n=name: one.update({n: "text"})
    yield "a cluster fewer", lambda one: one["clusters"].pop()
    yield "a later end", lambda one: one.update(until=one["until"] * 2)
    for i, step in enumerate(data["life"][:: max(1, len(data["life"]) // 8)]):
        if "towards" in step:
            yield (
                f"clock {i} without a direction",
                lambda one: next(s for s in one["life"] if "towards" in s).pop("towards"),
            )
            break


def test_damaged_certificates_are_refused():
    data = pk.certify(pk.sphere.uniform(5, 3, seed=3), beta=12.0, t_end=1e30).data
    assert len(data["merges"]) >= 2
    check(data)
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
    assert count >= 60


# --- formulas -------------------------------------------------------------------------------


def velocity(x, beta):
    """The naive velocity of causal tokens."""
    products = np.tril(x @ x.T, -1)
    weights = np.tril(np.exp(beta * (x @ x.T - 1)), -1)
    pull = weights @ x - (weights * products).sum(axis=1)[:, None] * x
    return pull / (1 + weights.sum(axis=1))[:, None]


def moved(x, k, direction, step):
    """Tokens with one of them moved along a geodesic."""
    size = np.linalg.norm(direction)
    after = x.copy()
    after[k] = np.cos(step * size) * x[k] + np.sin(step * size) * direction / size
    return after


def derivative(x, beta, k, j):
    """∂F_k/∂x_j in tangent spaces by differences: an ambient matrix."""
    d, h = x.shape[1], 1e-5
    tangent = np.eye(d) - np.outer(x[j], x[j])
    columns = [
        (velocity(moved(x, j, e, h), beta)[k] - velocity(moved(x, j, e, -h), beta)[k]) / (2 * h)
        for e in tangent
    ]
    across = np.eye(d) - np.outer(x[k], x[k])
    return across @ np.array(columns).T


@pytest.mark.parametrize("d", [3, 5])
def test_the_derivative_is_symmetric_and_bounded_as_said(d):
    """β Cov − s, against differences; the bounds are sharp for d = 3, and valid for all d."""
    draw = np.random.default_rng(d)
    for _ in range(many(6, 100)):
        n, beta = 6, 12.0
        x = unit(draw.normal(size=(n, d)) * 0.35 + np.eye(d)[0])
        gathering = SphereGathering(as_points(x, beta), 40)
        gathering.ranges = list(gathering.tokens.places)
        for k in range(1, n):
            y = x[:k] - (x[:k] @ x[k])[:, None] * x[k]
            weights = np.exp(beta * (x[:k] @ x[k] - 1))
            share = weights / (1 + weights.sum())
            force = share @ y
            spread = np.einsum("j,ja,jb->ab", share, y, y) - np.outer(force, force)
            tangent = np.eye(d) - np.outer(x[k], x[k])
            formula = beta * spread - (share @ (x[:k] @ x[k])) * tangent
            differences = derivative(x, beta, k, k)
            assert differences == pytest.approx(formula, abs=1e-7)
            assert differences == pytest.approx(differences.T, abs=1e-7)
            largest = np.linalg.eigvalsh(formula - 99 * np.outer(x[k], x[k]))[-1]
            growth, _ = gathering._stretch(k, [arb(0)] * k)
            assert float(growth) >= largest - 1e-9
            if d == 3:
                assert float(growth) == pytest.approx(largest, abs=1e-9)
            for j in range(k):
                norm = np.linalg.norm(derivative(x, beta, k, j), 2)
                widest = [arb(int(i == j)) for i in range(k)]
                _, bound = gathering._stretch(k, widest)
                assert float(bound) == pytest.approx(norm, abs=1e-7)


def test_bounds_hold_for_all_tokens_of_a_tube():
    """The growth and the speeds for boxes contain those of points in them."""
    draw = np.random.default_rng(1)
    for _ in range(many(20, 1000)):
        n, d, beta, tube = 5, 4, 16.0, 10 ** draw.uniform(-6, -1.5)
        x = unit(draw.normal(size=(n, d)) * 0.4 + np.eye(d)[0])
        tokens = as_points(x, beta)
        gathering = SphereGathering(tokens, 40)
        gathering.ranges = [place.widened(arb(tube)) for place in tokens.places]
        near = unit(x + draw.uniform(-1, 1, size=x.shape) * tube / d)
        others = [Swarm(1, place, arb(tube)) for place in tokens.places]
        for k in range(1, n):
            inner = SphereGathering(as_points(near, beta), 40)
            inner.ranges = list(inner.tokens.places)
            wide, point = gathering._stretch(k, [arb(1)] * k), inner._stretch(k, [arb(1)] * k)
            assert wide[0] >= point[0]
            assert wide[1] >= point[1]
            pull, total = tokens.pulls(gathering.ranges[k], others[:k])
            exact, sum_ = inner.tokens.pulls(inner.ranges[k], [
                Swarm(1, place, arb(0)) for place in inner.ranges[:k]
            ])  # fmt: skip
            assert total.overlaps(sum_)
            assert all(a.contains(b.mid()) for a, b in zip(pull.parts, exact.parts, strict=True))


def test_distances_contain_what_they_stand_for():
    """What is within an angle of a point, at random."""
    draw = random.Random(2)
    with mpmath.workdps(40):
        for _ in range(many(500, 50_000)):
            angle, radius = draw.uniform(0, 3.1), 10 ** draw.uniform(-8, 0)
            other = min(abs(angle + draw.uniform(-radius, radius)), float(mpmath.pi))
            short = 1 - arb(angle).cos()
            exact = 1 - mpmath.cos(mpmath.mpf(other))
            ball = points.farther(short, arb(radius) + arb(1e-12))
            assert float(ball.lower()) - 1e-15 <= float(exact) <= float(ball.upper()) + 1e-15
            one = Vector([arb(1), arb(0), arb(0)])
            two = Vector([arb(angle).cos(), arb(angle).sin(), arb(0)])
            if angle < 3:
                assert float(points.angle(one, two)) == pytest.approx(angle, abs=1e-9)
                assert float(points.angle(one, two)) >= angle * (1 - 1e-15)


def test_polynomials_are_taylor_s():
    """Against a precise run: the order of what is left out."""
    x0, beta, degree = pk.sphere.uniform(20, 3, seed=1), 16.0, 5
    taylor = polynomials(x0, beta, degree)
    errors = []
    for length in (0.2, 0.1, 0.05):
        end = (taylor * length ** np.arange(degree + 1)[:, None, None]).sum(axis=0)
        run = pk.simulate(pk.Attention(3, beta), x0, length, tol=1e-13, times="final")
        errors.append(np.abs(end - run.final).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx(degree + 1, abs=0.7)


def test_errors_of_a_gathering_bound_those_of_the_polynomials(eight):
    """At the end of each step, against a run with all digits."""
    x0 = np.array([[float.fromhex(c) for c in row] for row in eight.data["tokens"]])
    gathering = SphereGathering(as_points(x0, eight.beta), eight.data["bits"])
    for step in eight.data["gathering"][:60]:
        gathering.take(step)
        t = float(gathering.time[1])
        final = pk.simulate(pk.Attention(3, eight.beta), x0, t, tol=1e-13).final
        ends = np.array([[float(c) for c in end.parts] for end in gathering.ends])
        error = np.linalg.norm(final - ends, axis=1)
        assert (error <= np.array([float(e) for e in gathering.errors]) + 3e-11).all()


def test_tubes_are_left_where_polynomials_are_wrong(eight):
    x0 = [[float.fromhex(c) for c in row] for row in eight.data["tokens"]]
    tokens, bits = as_points(x0, eight.beta), eight.data["bits"]
    step = copy.deepcopy(eight.data["gathering"][0])
    SphereGathering(tokens, bits).take(step)
    step["places"][4] = [[row[0], *(2 * c for c in row[1:])] for row in step["places"][4]]
    with pytest.raises(RefusedError, match="token 4 may leave its tube"):
        SphereGathering(tokens, bits).take(step)


def test_merges_that_overlap_are_followed():
    """Two tokens come to the first one from two sides, at almost the same late time."""
    angles = np.array([0.0, 1.45, -1.4503])
    x0 = np.stack(
        [np.cos(angles), np.sin(angles) * 0.8, [0, 0.6, 0.6] * abs(np.sin(angles))], axis=1
    )
    beta = 16.0
    certificate = pk.certify(unit(x0), beta)
    assert certificate.why == ""
    run = pk.simulate(pk.Attention(3, beta), unit(x0), 1e60, tol=1e-10)
    first, second = (one.time for one in run.merge_tree(radius=certificate.radius).events)
    assert 8e4 < first < second < 1.01 * first
    assert certificate.agrees(run)
    assert [state.clusters for state in certificate.plateaus] == [3, 1]
    follows = [i for i, step in enumerate(certificate.data["life"]) if "gather" in step]
    assert follows
    for damage in (
        lambda step: step["gather"].pop(len(step["gather"]) // 2),
        lambda step: step["gather"][3]["places"][1][0].__setitem__(0, 2**49),
        lambda step: step.update(clusters=[[0, 1], [2]]),
    ):
        one = copy.deepcopy(certificate.data)
        damage(one["life"][follows[0]])
        with pytest.raises(RefusedError):
            check(one)
