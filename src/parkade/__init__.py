"""Causal self-attention, simulated as particles on a sphere: why tokens cluster in transformers.

Five calls to begin with:

>>> import parkade as pk
>>> x0 = pk.sphere.uniform(40, 2, seed=1)  # 40 tokens on the circle
>>> model = pk.Attention(d=2, beta=16.0)  # causal attention with Q = K = V = I
>>> run = pk.simulate(model, x0, t_end=1e20)  # tokens over time: run.at(t), run.final
>>> tree = run.merge_tree()  # which clusters merge, and when
>>> forecast = pk.theory.forecast(x0, beta=16.0)  # the same from the start alone
>>> forecast.count(1e20) == tree.count(1e20) == 1
True

Then see `Transformer` for models with several heads, norms, windows or an MLP, `ensemble` for
thousands of runs, `plots` for figures, and `clusters`, `theory` and `trained` for everything else.
Each function has an example in its help. The documentation is in the folder docs of the
repository, from docs/start.md on; `make docs` builds it as a site.
"""

# This file lists the public names and where they live. It is the only one that knows all folders.

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from parkade import plots, theory, trained
    from parkade.analysis import clusters
    from parkade.analysis.clusters import cluster_labels, consumption
    from parkade.base.errors import InputError, ParkadeError, TrustWarning, UnfinishedError
    from parkade.model import sphere
    from parkade.model.arrays import like
    from parkade.model.attention import Attention
    from parkade.model.flow import Flow
    from parkade.model.layers import Layers
    from parkade.model.part import Part
    from parkade.model.parts.depth import Resampled
    from parkade.model.parts.head import Head
    from parkade.model.parts.mask import Causal, Full, Prefix, Window
    from parkade.model.parts.mlp import MLP
    from parkade.model.parts.noise import Noise
    from parkade.model.parts.norm import NGPT, Mix, Peri, Post, Pre, Sqrt
    from parkade.model.parts.position import Alibi, Rope
    from parkade.model.schedule import Schedule
    from parkade.model.scheduled import Scheduled
    from parkade.model.transformer import Transformer
    from parkade.proof.certificate import Certificate
    from parkade.proof.certify import certify
    from parkade.runs.archive import load
    from parkade.runs.path import Path
    from parkade.runs.trajectory import Trajectory
    from parkade.solve.forward import forward
    from parkade.solve.simulate import simulate, simulate_many
    from parkade.sweeps.ensemble import ensemble, load_ensemble
    from parkade.theory.merge_tree import Merge, MergeTree, Plateau
    from parkade.theory.parking import renyi_centers, strong_renyi_centers

__version__ = "0.2.0"

__all__ = [
    "MLP",
    "NGPT",
    "Alibi",
    "Attention",
    "Causal",
    "Certificate",
    "Flow",
    "Full",
    "Head",
    "InputError",
    "Layers",
    "Merge",
    "MergeTree",
    "Mix",
    "Noise",
    "ParkadeError",
    "Part",
    "Path",
    "Peri",
    "Plateau",
    "Post",
    "Pre",
    "Prefix",
    "Resampled",
    "Rope",
    "Schedule",
    "Scheduled",
    "Sqrt",
    "Trajectory",
    "Transformer",
    "TrustWarning",
    "UnfinishedError",
    "Window",
    "certify",
    "cluster_labels",
    "clusters",
    "consumption",
    "ensemble",
    "forward",
    "like",
    "load",
    "load_ensemble",
    "plots",
    "renyi_centers",
    "simulate",
    "simulate_many",
    "sphere",
    "strong_renyi_centers",
    "theory",
    "trained",
]

# Each is imported on first use, so that the command line starts fast.
_HOMES = {
    "analysis.clusters": ("cluster_labels", "consumption"),
    "theory.merge_tree": ("Merge", "MergeTree", "Plateau"),
    "theory.parking": ("renyi_centers", "strong_renyi_centers"),
    "proof.certificate": ("Certificate",),
    "proof.certify": ("certify",),
    "base.errors": ("InputError", "ParkadeError", "TrustWarning", "UnfinishedError"),
    "model.arrays": ("like",),
    "model.attention": ("Attention",),
    "model.parts.depth": ("Resampled",),
    "model.flow": ("Flow",),
    "model.parts.head": ("Head",),
    "model.layers": ("Layers",),
    "model.parts.mask": ("Causal", "Full", "Prefix", "Window"),
    "model.parts.mlp": ("MLP",),
    "model.parts.noise": ("Noise",),
    "model.parts.norm": ("NGPT", "Mix", "Peri", "Post", "Pre", "Sqrt"),
    "model.parts.position": ("Alibi", "Rope"),
    "model.part": ("Part",),
    "model.schedule": ("Schedule",),
    "model.scheduled": ("Scheduled",),
    "model.transformer": ("Transformer",),
    "runs.archive": ("load",),
    "runs.path": ("Path",),
    "runs.trajectory": ("Trajectory",),
    "solve.forward": ("forward",),
    "solve.simulate": ("simulate", "simulate_many"),
    "sweeps.ensemble": ("ensemble", "load_ensemble"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = {
    "clusters": "analysis.clusters",
    "plots": "plots",
    "sphere": "model.sphere",
    "theory": "theory",
    "trained": "trained",
}

# Methods of a run that are implemented elsewhere; see `parkade.base.late`.
_METHODS = {
    "merge_tree": "parkade.analysis.merging.merge_tree",
    "save": "parkade.runs.archive.write",
    "show": "parkade.explorer.standalone.export.show",
    "show_text": "parkade.explorer.standalone.export.show_text",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"parkade.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"parkade.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'parkade' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
