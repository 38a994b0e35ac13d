"""The `parkade` command: what it prints, writes and returns."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import invoke, process
from support.forked import in_fork

import parkade as pk
from parkade.cli import parse

SMALL = ["simulate", "--n", "5", "--t-end", "1"]


# Help and version


def test_entry_point_is_installed() -> None:
    script = Path(sys.executable).with_name("parkade")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"parkade {pk.__version__}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        "simulate",
        "timeline",
        "certify",
        "explore",
        "export",
        "sweep",
        "reproduce",
        "bench",
        "warmup",
    ],
)
def test_help_shows_an_example_and_fits_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"Examples:\n    parkade {command}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


# Results


def test_saved_run_is_the_library_result_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    options = ["--n", 12, "--V", "1,1,-1", "--beta", 4, "--seed", 7, "--t-end", 20, "--tol", 1e-7]
    done = in_fork(["simulate", *options, "-o", path])
    assert (done.returncode, done.stderr) == (0, "")
    model = pk.Attention(V=[1, 1, -1], beta=4)
    expected = pk.simulate(model, pk.sphere.uniform(12, 3, seed=7), 20, tol=1e-7)
    run = pk.load(path)
    assert run.model == model
    assert np.array_equal(run.times, expected.times)
    assert np.array_equal(run.tokens, expected.tokens)
    assert f"wrote    {path} (" in done.stdout
    assert f"steps    {run.stats.steps} " in done.stdout


def test_json_is_all_of_stdout_and_exact(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    done = process(*SMALL, "--times", "0,0.5,1", "--json", "-o", path)
    data = json.loads(done.stdout)
    expected = pk.simulate(pk.Attention(3, 9.0), pk.sphere.uniform(5, 3, 0), 1, times=[0, 0.5, 1])
    assert (data["n"], data["d"], data["seed"]) == (5, 3, 0)
    assert data["times"] == [0, 0.5, 1]
    assert data["final"] == expected.final.tolist()
    assert data["model"]["V"] == np.eye(3).tolist()
    assert data["model"]["mask"] == "causal"
    assert data["stats"]["steps"] == expected.stats.steps
    assert (data["output"], data["plot"]) == (str(path), None)


def test_summary_fits_80_columns(here: Path) -> None:
    result = invoke("simulate")
    assert result.exit_code == 0
    assert result.stdout.startswith("model    Attention(d=3, beta=9, mask='causal')\n")
    assert "ends at  2 points" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert list(here.iterdir()) == []


def test_quiet_prints_nothing_and_still_writes(here: Path) -> None:
    result = invoke(*SMALL, "--quiet", "-o", "run.npz")
    assert result.stdout == ""
    assert pk.load("run.npz").final.shape == (5, 3)


def test_progress_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the file for a terminal
    done = in_fork([*SMALL, "--progress", "--json"])
    json.loads(done.stdout)
    assert "simulating" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name", "magic"),
    [
        (["--plot"], "parkade.png", b"\x89PNG"),
        (["--plot", "--seed", "1"], "parkade.png", b"\x89PNG"),
        (["--plot", "a.pdf"], "a.pdf", b"%PDF"),
        (["--plot=b.svg"], "b.svg", b"<?xml"),
    ],
)
def test_plot_writes_a_figure(here: Path, arguments: list[str], name: str, magic: bytes) -> None:
    result = invoke(*SMALL, *arguments)
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in here.iterdir()] == [name]
    assert (here / name).read_bytes().startswith(magic)


def test_starts_and_frozen_tokens_from_files(here: Path) -> None:
    x0, fixed = pk.sphere.uniform(4, 2, seed=3), pk.sphere.uniform(2, 2, seed=4)
    np.save("x.npy", x0)
    np.savetxt("x.csv", x0, delimiter=",", fmt="%.17g")
    np.savetxt("f.txt", fixed, fmt="%.17g")
    expected = pk.simulate(
        pk.Attention(2, 9.0), x0, 1, frozen=fixed, frozen_weights=[2, 3], times="final"
    )
    for file in ("x.npy", "x.csv"):
        frozen = ["--frozen", "f.txt", "--frozen-weights", "2,3"]
        result = invoke(*SMALL[:1], "--t-end", 1, "--tokens", file, *frozen, "--json")
        data = json.loads(result.stdout)
        assert data["final"] == expected.final.tolist()
        assert (data["n"], data["d"], data["seed"]) == (4, 2, None)
        assert data["frozen_weights"] == [2, 3]


SCHEDULE = pk.Schedule([0, 0.5], [4, 64])


@pytest.mark.parametrize(
    ("options", "model", "settings"),
    [
        (
            "--beta 3 --Q 2 --K 1,2 --V 0,-1;1,0 --mask full --method explicit --times final "
            "--tol 1e-8",
            pk.Attention(2, 3, Q=2, K=[1, 2], V=[[0, -1], [1, 0]], mask="full"),
            {"times": "final", "tol": 1e-8, "method": "explicit"},
        ),
        ("--schedule 0:4,0.5:64", pk.Attention(2, 9.0), {"schedule": SCHEDULE}),
        # One seed makes the start and the noise.
        (
            "--noise 8 --seed 3",
            pk.Transformer([pk.Head(d=2, beta=9.0)], noise=8.0),
            {"seed": 3},
        ),
    ],
)
def test_all_options_reach_the_library(
    options: str, model: pk.Transformer, settings: dict[str, Any]
) -> None:
    data = json.loads(invoke(*SMALL, "--d", 2, *options.split(), "--json").stdout)
    start = pk.sphere.uniform(5, 2, settings.get("seed", 0))
    run = pk.simulate(model, start, 1, **settings)
    assert data["final"] == run.final.tolist()
    assert data["model"] == run.model.to_dict()
    assert data["stats"]["reason"] == run.stats.reason


def test_a_transformer_from_options() -> None:
    """Random parts depend on the seed."""
    extras = "--norm ngpt --heads 2 --mlp 4 --position rope:100 --mask window(3)"
    options = [*extras.split(), "--d", 2, "--t-end", 2]
    models = [
        json.loads(invoke("simulate", "--n", 5, *options, "--seed", seed, "--json").stdout)["model"]
        for seed in (1, 1, 2)
    ]
    assert models[0]["norm"] == {"kind": "ngpt", "alpha": 1.0}
    assert models[0]["position"] == {"kind": "rope", "base": 100.0}
    assert models[0]["mask"] == "window(3)"
    assert len(models[0]["heads"]) == 2
    assert models[0] == models[1] != models[2]


def test_reproduce_lists_the_figures() -> None:
    from parkade.experiments.figures.registry import FIGURES

    result = invoke("reproduce", "--list")
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(FIGURES)


def test_reproduce_passes_its_options_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from parkade.experiments import reproduce as framework

    calls = []

    def reproduce(names: object, output: Path, **options: object) -> list[framework.Reproduced]:
        calls.append((names, output, options))
        paths = [output / "fig1.png", output / "fig1.pdf"]
        return [framework.Reproduced("fig1", paths, 1.25, reused=bool(options["seed"]))]

    monkeypatch.setattr(framework, "reproduce", reproduce)
    result = invoke("reproduce", "fig1", "-o", "out", "--seed", 3)
    assert result.stdout.splitlines() == [
        f"fig1           kept  {Path('out/fig1.png')}",
        f"all on one page: {Path('out/index.html')}",
    ]
    assert "   1.2 s  " in invoke("reproduce", "all", "--quick", "--runs", 50).stdout
    plain = {"quick": False, "runs": None, "progress": False}
    assert calls == [
        (["fig1"], Path("out"), {"seed": 3, **plain}),
        (None, Path("results"), {"seed": 0, **plain, "quick": True, "runs": 50}),
    ]


# Reading matrices and times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", 2.0),
        ("-1e-3", -1e-3),
        ("1,1,-1", [1, 1, -1]),
        ("0,-1;1,0", [[0, -1], [1, 0]]),
        ("1/2,-1", [0.5, -1]),
        (" 0, -1 ; 1, 0 ", [[0, -1], [1, 0]]),
    ],
)
def test_matrices(text: str, expected: object) -> None:
    assert parse.matrices({"V": text}, None)[0]["V"].tolist() == expected


def test_matrices_imply_the_dimension() -> None:
    assert parse.matrices({"Q": "1", "V": "1,2"}, None)[1] == 2
    assert parse.matrices({"Q": "1", "V": "1"}, None)[1] == 3
    matrices, d = parse.matrices({"Q": "random:1", "V": "1,2,3,4"}, None)
    assert (matrices["Q"].shape, d) == ((4, 4), 4)


def test_random_matrices_are_reproducible_independent_and_scaled() -> None:
    matrices, _ = parse.matrices({"Q": "random:0", "K": "random:0", "V": "random:0"}, 100)
    again, _ = parse.matrices({"V": "random:0"}, 100)
    assert np.array_equal(matrices["V"], again["V"])
    assert np.std(matrices["V"]) == pytest.approx(0.1, rel=0.05)
    start = np.random.default_rng(0).standard_normal((100, 100))
    others = [matrices["Q"], matrices["K"], start]
    assert all(abs(np.corrcoef(matrices["V"].ravel(), m.ravel())[0, 1]) < 0.05 for m in others)


def test_times() -> None:
    assert parse.times("final") == "final"
    assert list(parse.times("0,1.5,2")) == [0, 1.5, 2]
    assert list(parse.times("lin:0:10:3")) == [0, 5, 10]
    assert np.allclose(parse.times("log:1:100:3"), [1, 10, 100])


def test_last_time_is_the_end_of_the_run() -> None:
    data = json.loads(invoke("simulate", "--n", 5, "--times", "lin:0:2:3", "--json").stdout)
    assert data["times"] == [0, 1, 2]


# The history of clusters


def test_timeline_shows_plateaus_and_merges(tmp_path: Path) -> None:
    options = ["--n", "40", "--d", "2", "--beta", "16", "--t-end", "1e20", "--seed", "3"]
    result = invoke("timeline", *options)
    assert result.exit_code == 0
    assert "Metastable states" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    file = tmp_path / "run.npz"
    assert invoke("simulate", *options, "-o", file).exit_code == 0
    saved = invoke("timeline", file, "--json")
    tree = json.loads(saved.stdout)
    expected = pk.load(file).merge_tree()
    assert [e["absorbed"] for e in tree["events"]] == [e.absorbed for e in expected.events]
    assert invoke("timeline", file).stdout == result.stdout
    newick = invoke("timeline", file, "--newick").stdout
    assert newick.strip() == expected.to_newick()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.npz"], "there is no file missing.npz"),
        (["--radius", "4"], "radius must be an angle below π"),
        (["--persistence", "1"], "persistence must be > 1"),
    ],
)
def test_timeline_refuses_what_it_cannot_read(arguments: list[str], message: str) -> None:
    result = invoke("timeline", "--n", 5, "--t-end", 10, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
