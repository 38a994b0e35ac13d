"""The heads of a trained transformer, one by one, beside random ones of the same shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base import progress as bars
from parkade.base.types import Array, Seed
from parkade.engine.compile.threads import single_threaded_blas
from parkade.trained.flows import head_matrices

if TYPE_CHECKING:
    import xarray

    from parkade.trained.model import Trained

_RANK = 1e-6  # singular values below this, relative to the largest, are zero (float32 weights)
_MIDDLE = {"balance": 0.0, "symmetric": 0.5}
"""Where the law of random heads is centred: V and −V are equally likely."""
_ZERO = 1e-9  # eigenvalues below this, relative to the largest, are zero


def table(model: Trained, draws: int | None, seed: Seed, progress: bool) -> xarray.Dataset:
    """One row per head, with dimensions layer and head.

    V is taken on its range, where it is a matrix of size d_head: in the whole space it has zero
    eigenvalues, too. Scores of tokens x of norm √d are ⟨x, Bx'⟩ with B = QᵀK/√d_head, for RoPE at
    distance 0. All matrices have the gain of the norm in them.

    Variables
    ---------
    spectrum : complex, (layer, head, component)
        The eigenvalues of V on its range, those with the largest real part first.
    kind : str
        The row of Table 1 for the first one: "two points" (real, > 0), "rotation" (complex, with
        positive real part), "two clouds" (real, < 0) or "outside".
    balance : float
        Σλ/Σ|λ|, from −1 to 1.
    beta : float
        The effective β, √d‖sym B‖.
    symmetric : float
        ‖sym B‖²/‖B‖², from 0 to 1.
    rank, size : int, float
        Rank and spectral norm of V.
    balance_p, symmetric_p : float
        The share of random heads that are at least as far from their mean, (1 + #)/(1 + draws): an
        exact p-value for Gaussian weights. `…_holm` is corrected for the number of heads.
    random_balance, random_symmetric, random_kind : (draw,)
        Random heads of the same shape: Gaussian, as at the start of a training.
    """
    import xarray

    shape = model.shape
    rows: dict[str, Any] = {}
    with (
        single_threaded_blas(),  # threads only slow down small matrices
        bars.bar(f"heads of {model.name}", show=progress, remind=True) as report,
    ):
        firsts = [shape.weights_of(i) for i in range(shape.layers)]
        each: dict[int, dict[str, NDArray[Any]]] = {}
        for i, first in enumerate(firsts):
            if first not in each:  # tied layers have the same heads
                each[first] = _layer(*head_matrices(model, i))
            report(0.5 * (i + 1) / shape.layers)
        for name in each[firsts[0]]:
            rows[name] = np.stack([each[first][name] for first in firsts])
        total = shape.layers * shape.heads
        different = (shape.distinct or shape.layers) * shape.heads
        count = max(999, 40 * different - 1)  # so that the corrected ones can reach 1/40
        count = count if draws is None else check.positive_int("draws", draws)
        random = _random(shape.d, shape.d_head, count, check.generator(seed), report)
    data: dict[str, Any] = {
        name: (("layer", "head", "component")[: values.ndim], values)
        for name, values in rows.items()
    }
    for name in ("balance", "symmetric"):
        p = p_values(rows[name].ravel(), random[name], _MIDDLE[name])
        unique = p.reshape(shape.layers, shape.heads)
        once = [firsts.index(which) for which in sorted(set(firsts))]
        corrected = holm(unique[once].ravel()).reshape(-1, shape.heads)[firsts]
        data[f"{name}_p"] = (("layer", "head"), unique)
        data[f"{name}_holm"] = (("layer", "head"), corrected)
        data[f"random_{name}"] = (("draw",), random[name])
    data["random_kind"] = (("draw",), random["kind"])
    about = {"model": model.name, "draws": count, "heads": total, "d_head": shape.d_head}
    return xarray.Dataset(
        data, {"layer": np.arange(shape.layers), "head": np.arange(shape.heads)}, about
    )


def _layer(Q: Array, K: Array, V: Array, out: Array) -> dict[str, NDArray[Any]]:
    """The rows of a layer, from the matrices of its heads."""
    d, m = V.shape[2], V.shape[1]
    values = spectrum(V @ out)
    square, share = _symmetric(Q, K)
    # The product has the singular values of R Sᵀ: out = (…)R, Vᵀ = (…)S, orthonormal columns.
    left, right = np.linalg.qr(out).R, np.linalg.qr(V.transpose(0, 2, 1)).R
    sizes = np.linalg.svd(left @ right.transpose(0, 2, 1), compute_uv=False)
    return {
        "spectrum": values,
        "kind": kinds(values),
        "balance": balance(values),
        "beta": np.sqrt(d * square * share / m),
        "symmetric": share,
        "rank": (sizes > _RANK * sizes[:, :1]).sum(axis=1),
        "size": sizes[:, 0],
    }


def spectrum(V: Array) -> NDArray[np.complex128]:
    """Eigenvalues of matrices (..., m, m), those with the largest real part first."""
    values = np.linalg.eigvals(V).astype(np.complex128)
    order = np.lexsort((-values.imag, -values.real), axis=-1)
    return np.take_along_axis(values, order, axis=-1)


def kinds(values: NDArray[np.complex128]) -> NDArray[np.str_]:
    """The row of Table 1 for the leading eigenvalue, (...,) for spectra (..., m)."""
    lead, zero = values[..., 0], _ZERO * np.abs(values).max(axis=-1)
    real, turns = lead.real, np.abs(lead.imag) > zero
    cases = [turns & (real > zero), turns | (np.abs(real) <= zero), real > 0]
    return np.select(cases, ["rotation", "outside", "two points"], "two clouds")


def balance(values: NDArray[np.complex128]) -> Array:
    """Σλ/Σ|λ|, (...,) for spectra (..., m); 0 if all are 0."""
    total = np.abs(values).sum(axis=-1)
    shares: Array = values.sum(axis=-1).real / np.where(total > 0, total, 1.0)
    return shares


def _symmetric(Q: Array, K: Array) -> tuple[Array, Array]:
    """‖QᵀK‖² and the share of its symmetric part, without d×d matrices."""
    cross = K @ Q.transpose(0, 2, 1)
    square = np.sum((Q @ Q.transpose(0, 2, 1)) * (K @ K.transpose(0, 2, 1)), axis=(1, 2))
    turned = np.sum(cross * cross.transpose(0, 2, 1), axis=(1, 2))
    return square, (1 + turned / np.where(square > 0, square, 1.0)) / 2


def _random(
    d: int, m: int, draws: int, rng: np.random.Generator, report: bars.Report
) -> dict[str, NDArray[Any]]:
    """Random heads: all that is kept of them depends on their shape only, not on their scale."""
    columns: dict[str, list[NDArray[Any]]] = {"balance": [], "kind": [], "symmetric": []}
    for start, count in _chunks(draws, max(1, 2**22 // (m * d))):
        first, second = rng.standard_normal((2, count, m, d))
        values = spectrum(first @ second.transpose(0, 2, 1))
        columns["balance"].append(balance(values))
        columns["kind"].append(kinds(values))
        columns["symmetric"].append(_symmetric(first, second)[1])
        report(0.5 + 0.5 * (start + count) / draws)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _chunks(total: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, size):
        yield start, min(size, total - start)


def p_values(observed: Array, random: Array, centre: float) -> Array:
    """Two-sided Monte-Carlo p-values, (1 + #)/(1 + draws): exact for any number of draws."""
    far = np.sort(np.abs(random - centre))
    beyond = len(far) - np.searchsorted(far, np.abs(observed - centre) - 1e-12)
    result: Array = (1 + beyond) / (1 + len(far))
    return result


def holm(p: Array) -> Array:
    """Holm's correction for several tests."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
