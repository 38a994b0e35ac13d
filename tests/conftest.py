"""Helpers shared by the tests. Numbers come from fixed seeds only."""

from __future__ import annotations

import json
import re
import signal

import hypothesis
import numpy as np
import pytest

import parkade as pk
from parkade import plots
from parkade.claims.claim import Effort
from parkade.engine.threads import cores
from parkade.plots import style

EPS = np.finfo(np.float64).eps

hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, print_blob=False
)
hypothesis.settings.load_profile("fixed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One process more than cores: many tests wait, for a browser or for a process they killed."""
    return cores() + 1


def pytest_configure():
    """Let Ctrl-C interrupt tests, and processes they start, also where it is ignored.

    It is in any job that a shell runs in the background.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def random_model(d, beta=1.0, seed=0, mask="causal", scale=1.0):
    """A model with dense random Q, K, V of spectral size about `scale`."""
    rng = np.random.default_rng(seed)
    Q, K, V = scale * rng.standard_normal((3, d, d)) / np.sqrt(d)
    return pk.Attention(beta=beta, Q=Q, K=K, V=V, mask=mask)


def random_rotation(d, seed=0):
    """An orthogonal matrix with determinant 1."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return q


def worst(x, y):
    """The largest distance between corresponding rows."""
    return np.max(np.linalg.norm(np.asarray(x) - np.asarray(y), axis=-1))


def slope(steps, errors):
    """The observed order: the slope of log error against log step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def without_patience(said):
    """What was said, without the word that a slow machine says when it compiles or loads."""
    return re.sub(r"^parkade: compiling .*\n", "", said, flags=re.MULTILINE)


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 10 kB to spare."""
    monkeypatch.setattr("parkade.check.available_memory", lambda: 1e4)
    monkeypatch.setattr("parkade.check.ASKED_FROM", 0)


@pytest.fixture(scope="session")
def quick():
    """A quick look with the seed 0."""
    return Effort(quick=True, seed=0, report=lambda fraction: None)


@pytest.fixture(scope="session")
def presentable():
    """Checks that evidence fits a table, a JSON file and a figure."""

    def check(claim, evidence):
        assert len(evidence.measured) < 60
        assert len(claim.prediction) < 60
        json.dumps(evidence.numbers, allow_nan=False)
        figure = plots.new_figure(style.PAGE, claim.height)
        with style.context():
            claim.draw(evidence, figure)
            figure.canvas.draw()
        assert all(ax.has_data() for ax in figure.axes)

    return check
