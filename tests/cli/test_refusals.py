"""How the `parkade` command fails: one sentence, a code, and no file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import invoke, process

import parkade as pk

SMALL = ["simulate", "--n", "5", "--t-end", "1"]


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
