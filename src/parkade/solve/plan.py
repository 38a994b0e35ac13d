"""Choose the integrator, the frame and the sums of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from parkade.base.memory import available_memory
from parkade.base.types import Array
from parkade.model.layers import Layers
from parkade.model.model import Model
from parkade.model.parts.head import Head
from parkade.model.transformer import Transformer
from parkade.solve import rules
from parkade.solve import sums as summing
from parkade.solve.frame import Frame, long_run_frame, rest_frame, transformer_frame
from parkade.solve.lower import field_obstacle, kernel_head, plain_head
from parkade.solve.options import Problem
from parkade.solve.rules import WHOLE
from parkade.solve.sums import Sums

_COUPLES = "the implicit method needs all weights under full attention"
NOT_CAUSAL, IN_TURN = "not causal", "drift and noise in turn"
"""Why runs of transformers are explicit, and those with noise split."""

_CANCELS = "V does not attract, so large forces cancel in the end"


@dataclass(frozen=True)
class Plan:
    """An integrator, the frame, the sums, and the reasons for them."""

    method: Literal["explicit", "implicit", "splitting"]
    reason: str
    sums: Sums
    frame: Frame | None
    """None for a model that no kernel covers."""
    spin: Array
    """Generator of the rotation of the frame."""
    pieces: tuple[Problem, ...] = ()
    """For several models, one after the other: each as a problem. The rest is for the first."""
    ends: tuple[float, ...] = ()
    """When each of them ends."""


def choose(problem: Problem, n: int) -> Plan:
    """Plan a run of n tokens; the options may fix the integrator or the sums."""
    model = problem.model.unfolded(problem.options.t_end)
    if isinstance(model, Layers):
        return _one_after_the_other(problem, model, n)
    if problem.noisy:
        return _noisy(problem, n)
    head = plain_head(problem)
    if head is None:
        covered = not field_obstacle(problem.model, problem.fixed.tokens)
        return _transformer(problem, n) if covered else _naive(problem, n)
    method, reason, frame = _integrator(problem, head, n)
    obstacle = preference = ""
    if method == "implicit" and not problem.model.triangular:
        obstacle = _COUPLES
    elif method == "implicit" and not frame.attracts and _can_store(n):
        preference = _CANCELS
    sums = summing.choose(problem, n, obstacle=obstacle, preference=preference)
    stores = method == "implicit" and sums.name == "direct" and problem.model.triangular
    if stores and problem.options.method == "auto" and not _can_store(n):
        reason = "too many tokens to store their weights"
        method, frame = "explicit", rest_frame(head)
    return Plan(method, reason, sums, frame, frame.spin)


def with_direct_sums(plan: Plan, reason: str) -> Plan:
    """The plan with direct sums instead of harmonic ones."""
    direct = Sums("direct", reason, plan.sums.direct_seconds, plan.sums.direct_seconds)
    pieces = tuple(
        replace(piece, options=replace(piece.options, sums="direct")) for piece in plan.pieces
    )
    return replace(plan, sums=direct, pieces=pieces)


def can_be_implicit(model: Model, n: int) -> bool:
    """Whether the implicit method can handle n tokens, one after the other or all at once."""
    model = model.unfolded(0.0)
    if isinstance(model, Layers):
        return all(can_be_implicit(one, n) for one in model.models)
    covered = kernel_head(model) is not None or not field_obstacle(model, np.empty(0))
    return (covered and model.triangular) or n * (model.d - 1) <= WHOLE


def _integrator(
    problem: Problem, head: Head, n: int
) -> tuple[Literal["explicit", "implicit"], str, Frame]:
    """The integrator, the reason and the frame; the memory for weights is checked later."""
    model, options = problem.model, problem.options
    if options.method == "explicit":
        return "explicit", "requested", rest_frame(head)
    if options.method == "auto" and _is_short(problem):
        return (*rules.VERDICTS[rules.BRIEF], rest_frame(head))
    frame = long_run_frame(head, frozen=problem.still or len(problem.fixed.tokens) > 0)
    if options.method == "implicit":
        return "implicit", "requested", frame
    verdict = rules.CHEAPER
    if not _explicit_is_cheaper(problem, frame, n):
        small = can_be_implicit(model, n)
        verdict = rules.long_run(frame.rotates, bool(frame.spin.any()), model.triangular, small)
    method, reason = rules.VERDICTS[verdict]
    return method, reason, frame if method == "implicit" else rest_frame(head)


def _is_short(problem: Problem) -> bool:
    """Whether explicit steps are cheaper, whatever the model."""
    model = problem.model
    return rules.is_short(problem.options.t_end, model.rate, model.d)


def _explicit_is_cheaper(problem: Problem, frame: Frame, n: int) -> bool:
    """Whether explicit steps are cheaper, where steps can be foreseen."""
    from parkade.engine.sums.pairwise import seconds

    model = problem.model
    product = model.product
    if product is None or not frame.attracts or product[0, 0] < 0:
        return False
    if not np.array_equal(product, product[0, 0] * np.eye(model.d)):
        return False
    return rules.explicit_is_cheaper(
        problem.options.t_end,
        model.rate,
        model.sharpness,
        n,
        model.d,
        model.triangular,
        seconds(n * n, model.d),
    )


def _transformer(problem: Problem, n: int) -> Plan:
    """The plan for a transformer with several heads, an MLP, positions or a normalisation."""
    model, options = problem.model, problem.options
    assert isinstance(model, Transformer)
    sums = summing.of_transformer(problem, n)
    rest = transformer_frame(model, long=False)
    long = transformer_frame(model, long=True, still=problem.still)
    fits = 4.0 * len(model.heads) * n * n <= 0.5 * available_memory()
    if options.method == "explicit":
        return Plan("explicit", "requested", sums, rest, rest.spin)
    if options.method == "implicit":
        if not model.triangular:
            return _naive(problem, n)
        return Plan("implicit", "requested", sums, long, long.spin)
    if _is_short(problem):
        reason = rules.VERDICTS[rules.BRIEF][1]
    elif not model.triangular:
        reason = NOT_CAUSAL
    elif long.rotates:
        reason = rules.VERDICTS[rules.ROTATING][1]
    elif not fits:
        reason = "too many tokens to store their weights"
    else:
        return Plan(*rules.VERDICTS[rules.CAUSAL], sums, long, long.spin)
    return Plan("explicit", reason, sums, rest, rest.spin)


def _noisy(problem: Problem, n: int) -> Plan:
    """The plan for a model with noise."""
    model, reason = problem.model, IN_TURN
    if isinstance(model, Transformer) and not field_obstacle(model, problem.fixed.tokens):
        frame = transformer_frame(model, long=False)
        return Plan("splitting", reason, summing.of_transformer(problem, n), frame, frame.spin)
    still = np.zeros((model.d, model.d))
    return Plan("splitting", reason, summing.naive(problem, n), None, still)


def _naive(problem: Problem, n: int) -> Plan:
    """The plan for a model that no kernel covers."""
    model, options = problem.model, problem.options
    sums = summing.naive(problem, n)
    still = np.zeros((model.d, model.d))
    if options.method != "auto":
        return Plan(options.method, "requested", sums, None, still)
    if _is_short(problem):
        return Plan(*rules.VERDICTS[rules.BRIEF], sums, None, still)
    if not model.triangular:
        return Plan("explicit", "not known to be causal", sums, None, still)
    if not can_be_implicit(model, n):
        reason = f"n·(d−1) > {WHOLE}: too many finite differences"
        return Plan("explicit", reason, sums, None, still)
    return Plan(*rules.VERDICTS[rules.CAUSAL], sums, None, still)


def _one_after_the_other(problem: Problem, model: Layers, n: int) -> Plan:
    """The plan for several models: the same integrator for all, which dense output needs.

    It is implicit if that is best for any of them and possible for all: explicit steps are a
    little cheaper in a short run, but many more in a long one.
    """
    spans, fits = list(model.pieces(problem.options.t_end)), _can_store(n)
    if problem.noisy:
        return _noisy_pieces(problem, spans, n)
    implicit = replace(problem.options, method="implicit")
    spins = [
        _draft(replace(problem, model=one, options=implicit), n, fits)[2] for _, _, one in spans
    ]
    # One frame for all: it rotates if the tokens rotate in the same way all the time.
    problem = replace(problem, still=any(not np.array_equal(spin, spins[0]) for spin in spins))
    drafts = [_draft(replace(problem, model=one), n, fits) for _, _, one in spans]
    method, reason, _ = drafts[0]
    if any(draft[0] != method for draft in drafts):
        method = "implicit" if can_be_implicit(model, n) and fits else "explicit"
        reason = next(why for how, why, _ in drafts if how == method)
    pieces = tuple(
        replace(
            problem,
            model=one,
            options=replace(problem.options, t_end=end - start, times="final", method=method),
            start=start,
        )
        for start, end, one in spans
    )
    ends = tuple(end for _, end, _ in spans)
    return replace(choose(pieces[0], n), reason=reason, pieces=pieces, ends=ends)


def _noisy_pieces(problem: Problem, spans: list[tuple[float, float, Model]], n: int) -> Plan:
    """The plan for several models with noise: all run with it, even those that have none."""
    wanted = problem.wanted
    pieces = []
    for number, (start, end, one) in enumerate(spans):
        times = wanted[(wanted > start) & (wanted < end)] - start
        options = replace(
            problem.options, t_end=end - start, times=times if len(times) else "final"
        )
        pieces.append(replace(problem, model=one, options=options, start=start, piece=number))
    ends = tuple(end for _, end, _ in spans)
    return replace(choose(pieces[0], n), pieces=tuple(pieces), ends=ends)


def _draft(
    problem: Problem, n: int, fits: bool
) -> tuple[Literal["explicit", "implicit"], str, Array]:
    """The integrator, the reason and the rotation of the frame.

    The sums are chosen only if the integrator depends on them, or if they may be refused: the
    coefficients of some take long to compute.
    """
    head = plain_head(problem)
    if head is None or problem.options.sums == "harmonic" or not fits:
        plan = choose(problem, n)
        assert plan.method != "splitting"
        return plan.method, plan.reason, plan.spin
    method, reason, frame = _integrator(problem, head, n)
    return method, reason, frame.spin


def _can_store(n: int) -> bool:
    """Whether all weights of n tokens fit in memory."""
    return 4.0 * n * n <= 0.5 * available_memory()
