"""`certify`: enclose the life of the clusters of a start, with a proof."""

from __future__ import annotations

import math
import warnings
from typing import Any

from numpy.typing import ArrayLike

from parkade.analysis.clusters import default_forming, default_radius
from parkade.base import check
from parkade.base.errors import InputError, TrustWarning
from parkade.base.progress import Report, bar
from parkade.base.types import Array
from parkade.model.attention import Attention
from parkade.proof.certificate import FORMAT, Certificate
from parkade.proof.needed import flint
from parkade.runs.trajectory import Trajectory
from parkade.solve.simulate import simulate


def certify(
    x0: ArrayLike,
    beta: float,
    t_end: float = 1e60,
    *,
    radius: float | None = None,
    progress: bool | Report = False,
) -> Certificate:
    """Prove which clusters there are, and when they merge.

    The model is causal attention with Q = K = V = I. All bounds hold for the exact solution from
    the directions of the tokens in the certificate: those given, divided by their lengths in
    float64. They come from interval arithmetic, with Arb. What cannot be proved is left out, with
    the reason in `Certificate.why`. Needs the library python-flint: ``pip install
    'parkade[proof]'``.

    Parameters
    ----------
    x0 : (n, d) array
        The initial tokens, on the circle or on a sphere. Their directions count.
    beta : float
        Inverse temperature, positive.
    t_end : float
        Final time.
    radius : float, optional
        The angle within which tokens are merged; by default as for merge trees.
    progress : bool, default False
        Show a progress bar on standard error.

    Returns
    -------
    Certificate

    See Also
    --------
    simulate : computes the tokens, with an error that is estimated but not proved.
    theory.forecast : predicts the merges from the start in much less time.

    Notes
    -----
    ``parkade certify --check FILE`` checks a saved certificate step by step. The theory is in
    docs/theorem.md. The time grows like n²: some seconds for 20 tokens, minutes for 200.

    Examples
    --------
    >>> import parkade as pk
    >>> certificate = pk.certify(pk.sphere.uniform(6, 2, seed=1), beta=16.0, t_end=1e20)
    >>> [(merge.absorbed, merge.into) for merge in certificate.merges][-1]
    (1, 0)
    """
    tokens, beta, t_end = _checked(x0), check.positive("beta", beta), check.final_time(t_end)
    model = Attention(tokens.shape[1], beta)
    radius = default_radius(model) if radius is None else check.positive("radius", radius)
    if radius >= 1:
        raise InputError(f"radius must be below 1, got {radius:g}")
    report = progress if callable(progress) else None
    with bar("certify", show=bool(progress), instead=report) as done:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrustWarning)
            run = simulate(model, tokens, t_end, tol=1e-8, partial=True)
        return Certificate.of(_prove(run, beta, t_end, radius, done))


def _checked(x0: ArrayLike) -> Array:
    """Tokens on the circle, or on a sphere."""
    tokens = check.array("x0", x0)
    if tokens.ndim != 2 or tokens.shape[1] < 2 or not len(tokens):
        raise InputError(
            f"x0 must be an (n, d) array of tokens with d ≥ 2, got shape {tokens.shape}"
        )
    return check.tokens(tokens, tokens.shape[1], "x0")


def _prove(
    run: Trajectory, beta: float, t_end: float, radius: float, done: Report
) -> dict[str, Any]:
    """The data of a certificate."""
    flint()
    from flint import ctx

    from parkade.proof import prover, sphere_prover
    from parkade.proof.check import balls, verdict

    ctx.prec = balls.BITS
    forming = float(default_forming(run))
    data: dict[str, Any] = {
        "format": FORMAT,
        "beta": beta.hex(),
        "tokens": [[float(number).hex() for number in row] for row in run.tokens[0]],
        "radius": float(radius).hex(),
        "t_end": t_end.hex(),
        "forming": forming.hex(),
        "bits": (prover if run.d == 2 else sphere_prover).BITS,
        "gathering": [],
        "clusters": [],
        "life": [],
    }
    events = [(one.time, one.absorbed, one.into) for one in run.merge_tree(radius=radius).events]
    kind = prover.Proof if run.d == 2 else sphere_prover.SphereProof
    proof = kind(data, events, lambda t: done(math.log1p(t) / math.log1p(t_end)))
    pieces = proof.run()
    return data | verdict.conclude(pieces, forming) | {"why": proof.why}
