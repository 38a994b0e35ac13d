"""Every key of a sweep with hostile values: quickly a recipe or one sentence.

`PARKADE_FUZZ` is the number of cases; each has its own seed, so that one can be run again.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import random
import time
import tracemalloc

import numpy as np
import pytest
from support.damage import outcome

import parkade as pk
from parkade.cli.sweep import read_recipe
from parkade.sweeps import grid
from parkade.sweeps.recipe import SETTINGS, Recipe

CASES = int(os.environ.get("PARKADE_FUZZ", "100"))

KEYS = (*grid.PARAMETERS[1:], *SETTINGS)  # no file has a model, the first of them

SOUND = {
    "beta": [1, 4.0, [1, 4, 16], 0],
    "n": [8, 200, [5, 9]],
    "d": [2, 3, [2, 3]],
    "V": [1.0, "I", "gaussian", [1, -1], [1.0, "gaussian"], {"a": 2, "b": [1, 0]}],
    "Q": [2.0, "gaussian", [[1, 2], [0.5, 1], "I"]],
    "K": [1, {"x": "I", "y": [3, 1]}],
    "mask": ["causal", "full", ["causal", "full"], "window(3)", ["causal", "prefix(2)"]],
    "norm": ["post", "pre", ["post", "peri", "mix(2)"], "ngpt(0.1)"],
    "heads": [1, 3, [2, 4]],
    "d_head": [1, 2, [1, 2]],
    "mlp": [0, 4, [0, 8]],
    "noise": [8.0, [2, 8, math.inf]],
    "start": [
        "uniform", ["mixture", 3, 0.1], ["von Mises-Fisher", 5], [[1, 0], [0, 1]],
        ["uniform", ["von Mises-Fisher", 2.0]], {"a": "uniform", "b": ["mixture", 2, 0]},
    ],
    "c": [4.0, [1, 2]],
    "delta": [0.5, [0.1, 3]],
    "cluster_radius": [0.1, [0.01, 3]],
    "runs": [1, 4, 5000],
    "t_end": [1.0, 150, 1e60],
    "seed": [0, 7],
    "times": [[0.5, 1], {"from": 0.1, "to": 1, "count": 4}],
    "measure": ["clusters", ["final", "merges"], ["consumption", "centers"], "trajectory"],
    "radius": [0.1, 3],
    "tol": [1e-6, 1e-9],
    "batch": [1, 50],
    "sums": ["auto", "direct"],
}  # fmt: skip

ATOMS = [
    True, False, 0, 1, -1, 2, 10**6, 10**12, 10**18, 2**63 - 1, 2**63, -(2**63), 10**40, 10**400,
    0.0, -0.0, 0.5, -1.5, 1e-6, 5e-324, 1e-310, 1e-200, 1e50, 1e51, 1e155, 1e308, -1e308,
    math.nan, math.inf, -math.inf,
    "", "I", "gaussian", "uniform", "causal", "clusters", "auto", "mixture", "nan", "1", "a\0b",
    "start.npy", "missing.csv", "folder.txt", "broken.npy", "a\0.npy", "../" * 40 + "x.txt",
    "β" * 300, "x" * 100_000, "y" * 5000 + ".csv", "\n", "'; --", "\u202e", "\U0001f600",
    dt.date(2024, 2, 29), dt.time(23, 59, 59), dt.datetime(1979, 5, 27, 7, 32),
]  # fmt: skip

LOOSE = ["\ud800", b"bytes", None, 1j, np.nan, np.float32(2), np.int64(3), np.array(2.0),
         np.array([]), np.zeros((2, 0)), np.zeros((2, 2, 2)), np.eye(2), np.array(["a"]),
         np.array([None, 1]), np.array("2024-01-01", dtype="M8[D]"), np.longdouble("1e4000"),
         object(), range(3), range(10**30), {1, 2}, lambda: 0, 10**5000, -(10**5000),
         float, {1: 2}, {None: [1]}]  # fmt: skip
"""Values that only Python can express."""


def hostile(rng: random.Random, atoms: list, depth: int = 0):
    """An invalid value, random and maybe nested."""
    kind = rng.random()
    if depth > 3 or kind < 0.5:
        return rng.choice(atoms)
    if kind < 0.8:
        return [hostile(rng, atoms, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 0.92:
        names = rng.choices(["a", "", "from", "to", "count", "x\0y", "z" * 300, "β"], k=3)
        return {name: hostile(rng, atoms, depth + 1) for name in names[: rng.randrange(4)]}
    if kind < 0.96:
        nest = rng.choice(atoms)
        for _ in range(rng.choice([5, 40, 100])):
            nest = [nest]
        return nest
    return [rng.choice([0, 1.5, 5e-324, "I", "uniform", True, 10**40])] * rng.choice([100, 3000])


def mutated(rng: random.Random, value, atoms: list):
    """A valid value with one part replaced."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        i = rng.randrange(len(value))
        return [*value[:i], mutated(rng, value[i], atoms), *value[i + 1 :]]
    if isinstance(value, dict) and rng.random() < 0.7:
        key = rng.choice(list(value))
        return {**value, key: mutated(rng, value[key], atoms)}
    return hostile(rng, atoms)


def request(case: int, atoms: list) -> dict:
    """Valid values for some keys, and one or two hostile ones."""
    rng = random.Random(case)
    asked = {"d": 2, "n": 5, "runs": 2, "t_end": 1.0}
    for key in rng.sample(KEYS, rng.randrange(5)):
        asked[key] = rng.choice(SOUND[key])
    for key in rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2])):
        few = rng.random() < 0.5
        asked[key] = mutated(rng, rng.choice(SOUND[key]), atoms) if few else hostile(rng, atoms)
    return asked


def toml(value) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True) if value.isascii() else f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml(k)} = {toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return repr(value)


@pytest.fixture
def folder(here):
    np.save("start.npy", np.eye(2))
    (here / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (here / "folder.txt").mkdir()
    return here


def swiftly(case: int, asked: dict, ask) -> None:
    """Call `ask` and check that it takes little time and memory."""
    tracemalloc.reset_peak()
    before, begun = tracemalloc.get_traced_memory()[0], time.process_time()
    outcome(f"case {case}", ask)
    seconds = time.process_time() - begun
    grown = tracemalloc.get_traced_memory()[1] - before
    assert grown < 2**26, f"case {case}: {grown / 2**20:.0f} MiB for {asked}"
    assert seconds < 5, f"case {case}: {seconds:.1f} s for {asked}"


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_files(folder, traced):
    outcomes = {"recipe": 0, "sentence": 0}
    for case in range(CASES):
        asked = request(case, ATOMS)
        file = folder / "sweep.toml"
        file.write_text("".join(f"{k} = {toml(v)}\n" for k, v in asked.items()), encoding="utf-8")

        def read() -> None:
            outcomes["sentence"] += 1
            recipe = read_recipe(file)  # noqa: B023  called at once
            again = Recipe.from_json(recipe.to_json())
            assert again.to_json() == recipe.to_json()
            outcomes["sentence"] -= 1
            outcomes["recipe"] += 1

        swiftly(case, asked, read)
    assert min(outcomes.values()) > CASES // 10, outcomes  # accepted and refused
    assert sorted(p.name for p in folder.iterdir()) == [
        "broken.npy", "folder.txt", "start.npy", "sweep.toml",
    ]  # fmt: skip


def test_arguments(folder, traced):
    taken = 0
    for case in range(CASES):
        asked = request(case, ATOMS + LOOSE * 2)

        def ask() -> None:
            nonlocal taken
            try:
                pk.ensemble(**asked, executor="nobody", store="kept")  # noqa: B023
            except pk.InputError as error:
                # The last check before anything is written.
                taken += "executor must be one of" in str(error)
                raise

        swiftly(case, asked, ask)
    assert taken > CASES // 10
    assert not (folder / "kept").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("measure = 0", "measure must be one of 'clusters'"),
        ("start = [[]]", "start must"),
        ("d = 9223372036854775808", "d must be at most 2^63 − 1, got 9223372036854775808"),
        ("d = 1000000000", "a run of 200 tokens in d=1000000000 needs"),
        (
            "times = {from = 0.1, to = 1, count = 1000000000000}",
            "there can be at most 1000000 times",
        ),
        ("n = 1000000000000", "a run of 1000000000000 tokens in d=2 needs"),
        ("runs = 1000000000000000000", "a list of 20000000000000000 batches, for"),
        ("runs = 1" + "0" * 5000, "is not a TOML file"),
        ("beta = " + "[" * 5000 + "]" * 5000, "is not a TOML file"),
        ("beta = 1e308", "beta must be at most 1e+50, got 1e+308"),
        ("beta = true", "beta must be a real number, got True"),
        ("beta = 1979-05-27", "beta must be a real number, got datetime.date"),
        ('beta = "4"', "beta must be a real number, got '4'"),
        ("V = [1e155, 1]", "V must be 0 or have its largest entry between 1e-50 and 1e+50"),
        ('start = ["mixture", 1000000000000000, 0.1]', "a mixture of 1000000000000000 needs"),
        ('start = ["von Mises-Fisher", 1e308]', "kappa of start must be at most 1e+50"),
        ('start = "a\\u0000b.npy"', "start: "),
        ("seed = 1" + "0" * 400, "seed must be below 2^128, got 1000"),
        ("t_end = 1e308", "t_end must lie in [1e-200, 1e+300], got 1e+308"),
    ],
)
def test_known_cases(folder, line, said):
    file = folder / "sweep.toml"
    first = "" if line.startswith("d =") else "d = 2\n"
    file.write_text(f"{first}{line}\n")
    assert said in outcome(line, read_recipe, file, refusal=pk.InputError)[1]
