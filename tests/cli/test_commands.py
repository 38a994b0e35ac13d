"""The `parkade` command: what it prints, writes and returns, and how it fails."""

import json
import os
import signal
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
    "command", ["simulate", "explore", "export", "sweep", "reproduce", "bench", "warmup"]
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
        ("--schedule 0:4,0.5:64", pk.Attention(2), {"schedule": SCHEDULE}),
        # One seed makes the start and the noise.
        ("--noise 8 --seed 3", pk.Attention(2, 9.0, noise=8.0), {"seed": 3}),
    ],
)
def test_all_options_reach_the_library(
    options: str, model: pk.Attention, settings: dict[str, Any]
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


# Errors


@pytest.fixture
def files(here: Path) -> Path:
    np.save("nan.npy", np.full((3, 3), np.nan))
    np.save("cube.npy", np.ones((3, 3, 3)))
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("words.npy", np.array(["a", "b"]))
    np.save("complex.npy", 1j * np.eye(3))
    np.save("off.npy", np.array([[1.0, 0, 0], [0, 1.25, 0]]))
    np.save("empty.npy", np.empty((0, 3)))
    np.save("good.npy", np.eye(3))
    Path("text.csv").write_text("hello, world\n")
    Path("ragged.csv").write_text("1,2\n3\n")
    Path("empty.csv").write_text("")
    Path("torn.npy").write_bytes(b"\x93NUMPY")
    Path("picture.png").write_bytes(b"")
    Path("directory").mkdir()
    return here


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--n 0", "n must be a whole number ≥ 1"),
        ("--n -3", "n must be a whole number ≥ 1"),
        ("--d 1", "d must be ≥ 2"),
        ("--d 0", "d must be a whole number ≥ 1"),
        ("--beta -1", "beta must be ≥ 0"),
        ("--beta nan", "beta must be finite"),
        ("--beta inf", "beta must be finite"),
        ("--t-end 0", "t_end must be > 0"),
        ("--t-end -1", "t_end must be > 0"),
        ("--t-end inf", "t_end must be finite"),
        ("--tol 0", "tol must be > 0"),
        ("--tol 1", "tol must lie in"),
        ("--seed -1", "seed must be ≥ 0"),
        ("--mask cosual", "mask must be one of 'causal', 'full', 'window(16)'"),
        ("--norm batch", "norm must be one of 'post', 'pre'"),
        ("--position here", "--position must be rope:BASE or alibi:SLOPE, got 'here'"),
        ("--heads 0", "heads must be a whole number ≥ 1, got 0"),
        ("--heads 2 --V 1,2", "--heads makes random heads instead of Q, K and V"),
        ("--norm pre --forecast --plot f.png", "forecast needs one attention head and nothing"),
        ("--noise 0", "noise must be pk.Noise(kappa), a number κ > 0"),
        ("--noise 8 --method implicit", "noise"),
        ("--method magic", "method must be one of 'auto'"),
        ("--schedule 0:4,5", "--schedule must be pairs such as 0:16,100:64, got '0:4,5'"),
        ("--schedule 0:4,x:5", "--schedule must be pairs"),
        ("--schedule 1:4", "times must begin with 0, got 1"),
        ("--schedule 0:4,2:-1", "beta must be ≥ 0, got -1"),
        ("--V x", "--V must be a number, a diagonal"),
        ("--V nan", "V must be finite"),
        ("--V 1,2;3", "--V must have rows of one length, got rows of 2, 1 numbers"),
        ("--V 1,2 --d 3", "V must be a number, a vector of length 3"),
        ("--V 1,2;3,4;5,6", "V must be a number, a vector of length 3"),
        ("--V 1,2 --Q 1,2,3", "must be a number, a vector of length"),
        ("--V random:x", "--V random:SEED must be a whole number ≥ 0, got 'x'"),
        ("--V missing.npy", "there is no file missing.npy"),
        ("--V nan.npy", "must be finite, got nan at index 0, 0"),
        ("--V cube.npy", "V must be a number, a vector of length 3"),
        ("--V objects.npy", "objects.npy is not a NumPy array of numbers"),
        ("--V words.npy", "must be real numbers"),
        ("--V complex.npy", "must be real numbers"),
        ("--V text.csv", "text.csv is not a table of numbers"),
        ("--V ragged.csv", "ragged.csv is not a table of numbers"),
        ("--V empty.csv", "empty.csv is not a table of numbers"),
        ("--V torn.npy", "torn.npy is not a NumPy array of numbers"),
        ("--tokens missing.csv", "there is no file missing.csv"),
        ("--tokens picture.png", "--tokens reads .npy, .csv, .txt files, got picture.png"),
        ("--tokens directory", "--tokens reads"),
        ("--tokens off.npy", "row 1 has norm 1.25"),
        ("--tokens empty.npy", "at least one token"),
        ("--tokens nan.npy", "must be finite"),
        ("--tokens cube.npy", "must be an (n, d) array, got shape (3, 3, 3)"),
        ("--tokens good.npy --n 4", "--n 4 disagrees with the 3 rows of good.npy"),
        ("--tokens good.npy --d 2", "must have d=2 columns"),
        ("--frozen off.npy", "frozen must be unit vectors, but row 1 has norm 1.25"),
        ("--frozen good.npy --frozen-weights 1,2", "one number for each of the 3 frozen"),
        ("--frozen good.npy --frozen-weights 1,2,-1", "frozen_weights must be > 0"),
        ("--frozen good.npy --frozen-weights 1,a", "--frozen-weights must be numbers"),
        ("--times never", "--times must be steps, final"),
        ("--times 1,x", "--times must be steps, final"),
        ("--times 2,1", "times must not decrease"),
        ("--times 0,5000 --t-end 10", "times must lie in [0, t_end=10]"),
        ("--times nan --t-end 10", "times must be finite"),
        ("--times lin:0:1", "--times must be steps, final"),
        ("--times lin:0:1:0", "COUNT of --times must be a whole number ≥ 1"),
        ("--times lin:0:1:x", "COUNT of --times must be a whole number"),
        ("--times lin:0:inf:3", "STOP of --times must be finite"),
        ("--times log:0:1:3", "needs START > 0"),
        ("--times lin:0:1:9999999999999999", "GiB of memory"),
        ("-o missing/run.npz", "the directory missing does not exist"),
        ("-o directory", "it is a directory"),
        ("--plot missing/a.png", "the directory missing does not exist"),
        ("--plot a.docx", "its name must end in .png, .pdf, .svg"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    files: Path, options: str, words: str
) -> None:
    before = sorted(files.rglob("*"))
    outputs = [] if "-o" in options or "--plot" in options else ["-o", "run.npz", "--plot"]
    result = invoke("simulate", *outputs, *options.split())
    assert result.exit_code == 2, (result.exception, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("parkade: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert sorted(files.rglob("*")) == before


@pytest.mark.parametrize("options", ["--n many", "--beta", "--frobnicate", "stray"])
def test_usage_errors(options: str) -> None:
    result = invoke("simulate", *options.split())
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert result.stdout == ""


def test_unknown_names() -> None:
    for command in ("bench", "reproduce"):
        result = invoke(command, "nothing")
        assert result.exit_code == 2
        assert result.stderr.startswith("parkade: the ")
        assert "got 'nothing'" in result.stderr


def test_error_from_the_real_command(tmp_path: Path) -> None:
    done = process("simulate", "--beta", "nan", "-o", "run.npz", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "parkade: beta must be finite, got nan\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    result = invoke(*SMALL, "-o", locked / "run.npz")
    assert result.exit_code == 2
    assert "is not writable" in result.stderr


def test_failed_write_leaves_no_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("parkade.base.npz.write", full)
    result = invoke(*SMALL, "-o", "run.npz")
    assert result.exit_code == 2
    # A message about compiling may come first.
    assert result.stderr.endswith("parkade: run.npz: No space left on device\n")
    assert list(here.iterdir()) == []


def test_ctrl_c_stops_a_long_run(tmp_path: Path) -> None:
    invoke(*SMALL, "--d", 2, "--method", "explicit")  # compile before
    command = [sys.executable, "-m", "parkade", "simulate", "--n", "300", "--d", "2", "--beta"]
    command += ["500", "--t-end", "1e5", "--times", "final", "--method", "explicit", "--progress"]
    with subprocess.Popen(
        [*command, "-o", "run.npz", "--plot"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FORCE_COLOR": "1"},
    ) as running:
        assert running.stderr is not None
        shown = b""
        while b"simulating" not in shown and running.poll() is None:
            shown += os.read(running.stderr.fileno(), 1024)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == b""
    assert b"parkade: interrupted; nothing was written\n" in err
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_without_unicode() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("simulate", "--tol", "1", "--V", "random:1", env=environment)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert process("bench", "--quick", "velocity-batch", env=environment).returncode == 0


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


def test_a_run_that_cannot_finish_fails_or_is_kept(here: Path) -> None:
    command = ["simulate", "--V", "0,-1;1,0", "--K", "1,2", "--t-end", "1e9", "--max-steps", "50"]
    result = invoke(*command, "-o", "run.npz")
    assert result.exit_code == 2
    assert "max_steps=50" in result.stderr
    assert not Path("run.npz").exists()
    result = invoke(*command, "-o", "run.npz", "--partial")
    assert result.exit_code == 0
    assert "stopped" in result.stdout
    assert pk.load("run.npz").stats.stopped
