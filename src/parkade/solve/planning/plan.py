"""Choose the integrator, the frame and the sums of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from parkade.base.memory import available_memory
from parkade.model.layers import Layers
from parkade.model.model import Model
from parkade.model.transformer import Transformer
from parkade.solve.lowering.frame import (
    Frame,
    frame_at_rest,
    long_run_frame,
    rest_frame,
    transformer_frame,
)
from parkade.solve.lowering.lower import field_obstacle, kernel_head, plain_head
from parkade.solve.options import Problem
from parkade.solve.planning import rules
from parkade.solve.planning import sums as summing
from parkade.solve.planning.rules import WHOLE
from parkade.solve.planning.sums import Sums

Kernel = Literal["head", "field", "naive"]
Method = Literal["explicit", "implicit", "splitting"]

_COUPLES = "the implicit method needs all weights under full attention"
NOT_CAUSAL, IN_TURN = "not causal", "drift and noise in turn"
"""Why runs of transformers are explicit, and why those with noise use splitting."""

_CANCELS = "V does not attract, so large forces cancel in the end"


@dataclass(frozen=True)
class Plan:
    """How a run is computed, and why.

    Attributes
    ----------
    kernel : str
        What computes velocities: the kernels for one plain "head" or a "field" of several parts, or
        the "naive" velocity of the model.
    method : str
        The integrator.
    reason : str
        Why this integrator was chosen.
    sums : Sums
    frame : Frame
        The coordinates of the run. A naive run uses those of the model.
    pieces : tuple of Problem
        For several models, one after the other: their problems. The rest is for the first one.
    ends : tuple of float
        The end times of these models.
    """

    kernel: Kernel
    method: Method
    reason: str
    sums: Sums
    frame: Frame
    pieces: tuple[Problem, ...] = ()
    ends: tuple[float, ...] = ()


def choose(problem: Problem, n: int) -> Plan:
    """Plan a run of n tokens; the options may fix the integrator or the sums."""
    model = problem.model.unfolded(problem.options.t_end)
    if isinstance(model, Layers):
        return _one_after_the_other(problem, model, n)
    kernel = _kernel(problem)
    method, reason, frame = _method(problem, kernel, n)
    sums = _sums(problem, kernel, method, frame, n)
    stores = method == "implicit" and sums.name == "direct" and model.triangular
    if stores and problem.options.method == "auto" and not _can_store(model, n):
        method, reason = "explicit", "too many tokens to store their weights"
        frame = _frame(problem, kernel, long=False)
    return _gathering(Plan(kernel, method, reason, sums, frame), problem, n)


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


def _gathering(plan: Plan, problem: Problem, n: int) -> Plan:
    """The plan of a long run, with explicit steps while very many tokens gather.

    Not if every step is saved: dense output needs one integrator.
    """
    if plan.method != "implicit" or plan.sums.name != "harmonic":
        return plan
    if not _gathers(problem, plan.frame, n):
        return plan
    options, until = problem.options, _gathered_by(problem)
    first = replace(options, method="explicit", times="final", t_end=until)
    then = replace(options, method="implicit", times="final", t_end=options.t_end - until)
    rest = replace(problem, options=then, start=until, switches=True)
    pieces = replace(problem, options=first), rest
    reason = f"{plan.reason}, explicit while tokens gather"
    return replace(plan, reason=reason, pieces=pieces, ends=(until, options.t_end))


def _gathered_by(problem: Problem) -> float:
    """The time until which very many tokens take explicit steps."""
    return rules.GATHERING / max(problem.model.rate, 1e-300)


def _gathers(problem: Problem, frame: Frame, n: int) -> bool:
    """Whether a run of causal attention may change from explicit to implicit steps."""
    options = problem.options
    steady = frame.attracts and not (frame.spin.any() or frame.turning or frame.drifts)
    every = isinstance(options.times, str) and options.times == "steps"
    if n < rules.VERY_MANY or options.method != "auto" or not options.rest or not steady or every:
        return False
    return options.t_end > 2 * _gathered_by(problem)


def _kernel(problem: Problem) -> Kernel:
    """What computes the velocities of a model."""
    if plain_head(problem) is not None:
        return "head"
    model = problem.model
    couples = problem.options.method == "implicit" and not model.triangular
    # The kernels for transformers have no Jacobian of all tokens together.
    return "naive" if couples or field_obstacle(model, problem.fixed.tokens) else "field"


def _method(problem: Problem, kernel: Kernel, n: int) -> tuple[Method, str, Frame]:
    """The integrator, the reason for it, and the frame; memory for weights is checked later."""
    options = problem.options
    if problem.noisy:
        return "splitting", IN_TURN, _frame(problem, kernel, long=False)
    if options.method == "explicit":
        return "explicit", "requested", _frame(problem, kernel, long=False)
    if options.method == "auto" and _is_short(problem):
        return (*rules.VERDICTS[rules.BRIEF], _frame(problem, kernel, long=False))
    frame = _frame(problem, kernel, long=True)
    if options.method == "implicit":
        return "implicit", "requested", frame
    method, reason = _long_method(problem, kernel, frame, n)
    return method, reason, frame if method == "implicit" else _frame(problem, kernel, long=False)


def _long_method(
    problem: Problem, kernel: Kernel, frame: Frame, n: int
) -> tuple[Literal["explicit", "implicit"], str]:
    """The integrator for a long run in this frame, and the reason for it."""
    model, plain = problem.model, kernel == "head"
    small = can_be_implicit(model, n)
    harmonic = model.triangular and model.d == 2 and problem.options.sums != "direct"
    soon = plain and harmonic and _gathers(problem, frame, n)
    if plain and not soon and _explicit_is_cheaper(problem, frame, n):
        return rules.VERDICTS[rules.CHEAPER]
    if not plain and not model.triangular:
        return "explicit", NOT_CAUSAL if kernel == "field" else "not known to be causal"
    if kernel == "naive" and not small:
        return "explicit", f"n·(d−1) > {WHOLE}: too many finite differences"
    turns = plain and bool(frame.spin.any())
    return rules.VERDICTS[rules.long_run(frame.rotates, turns, model.triangular, small)]


def _frame(problem: Problem, kernel: Kernel, *, long: bool) -> Frame:
    """The frame for a short or for a long run."""
    model, still = problem.model, problem.still
    if kernel == "naive":
        return frame_at_rest(np.zeros((model.d, model.d)))
    head = plain_head(problem)
    if head is None:
        assert isinstance(model, Transformer)
        return transformer_frame(model, long=long, still=still)
    if long:
        return long_run_frame(head, frozen=still or len(problem.fixed.tokens) > 0)
    return rest_frame(head)


def _sums(problem: Problem, kernel: Kernel, method: Method, frame: Frame, n: int) -> Sums:
    """Choose the sums of a run."""
    if kernel == "naive":
        return summing.naive(problem, n)
    if kernel == "field":
        return summing.of_transformer(problem, n)
    obstacle = preference = ""
    if method == "implicit" and not problem.model.triangular:
        obstacle = _COUPLES
    elif method == "implicit" and not frame.attracts and _can_store(problem.model, n):
        preference = _CANCELS
    return summing.choose(problem, n, obstacle=obstacle, preference=preference)


def _is_short(problem: Problem) -> bool:
    """Whether explicit steps are cheaper, whatever the model."""
    model = problem.model
    return rules.is_short(problem.options.t_end, model.rate, model.d)


def _explicit_is_cheaper(problem: Problem, frame: Frame, n: int) -> bool:
    """Whether explicit steps are cheaper; False if their number cannot be estimated."""
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


def _one_after_the_other(problem: Problem, model: Layers, n: int) -> Plan:
    """The plan for several models: the same integrator for all, which dense output needs.

    It is implicit if that is best for any of them and possible for all: explicit steps are a
    little cheaper in a short run, but a long run needs many more of them.
    """
    spans, fits = list(model.pieces(problem.options.t_end)), _can_store(model, n)
    if problem.noisy:
        return _noisy_pieces(problem, spans, n)
    implicit = replace(problem.options, method="implicit")
    frames = [
        _draft(replace(problem, model=one, options=implicit), n, fits)[2] for _, _, one in spans
    ]
    # One frame for all: it rotates if the tokens rotate in the same way all the time.
    alike = all(np.array_equal(frame.spin, frames[0].spin) for frame in frames)
    problem = replace(problem, still=not alike)
    drafts = [_draft(replace(problem, model=one), n, fits) for _, _, one in spans]
    method, reason, _ = drafts[0]
    if any(draft[0] != method for draft in drafts):
        method = "implicit" if can_be_implicit(model, n) and fits else "explicit"
        reason = next(why for how, why, _ in drafts if how == method)
    assert method != "splitting"
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
    """The plan for several models, some with noise: all use the integrator for noise."""
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


def _draft(problem: Problem, n: int, fits: bool) -> tuple[Method, str, Frame]:
    """The integrator, the reason for it, and the frame.

    The sums are chosen only if the integrator depends on them, or if they may be refused: the
    coefficients of some of them take long to compute.
    """
    if fits and plain_head(problem) is not None and problem.options.sums != "harmonic":
        return _method(problem, "head", n)
    plan = choose(problem, n)
    return plan.method, plan.reason, plan.frame


def _can_store(model: Model, n: int) -> bool:
    """Whether the weights of all heads for n tokens fit in memory."""
    heads = len(model.heads) if isinstance(model, Transformer) else 1
    return 4.0 * heads * n * n <= 0.5 * available_memory()
