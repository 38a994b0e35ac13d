from __future__ import annotations

import contextlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray
from support.common import random_model

import parkade as pk
from parkade.engine.steps.methods import METHODS
from parkade.runs.interpolation import DENSE

FROZEN = {"frozen": [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], "frozen_weights": [2.0, 0.5]}


def make(times="steps", **options):
    model = random_model(3, beta=4.0, seed=1)
    return pk.simulate(model, pk.sphere.uniform(7, 3, seed=1), 3.0, times=times, **options)


@pytest.fixture(scope="module")
def run():
    return make()


@pytest.fixture
def saved(run, tmp_path):
    path = tmp_path / "run.npz"
    run.save(path)
    return path


# --- save and load -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, FROZEN], ids=["free", "frozen"])
@pytest.mark.parametrize("times", ["steps", "final", [0.0, 0.5, 3.0]], ids=str)
def test_a_saved_run_comes_back_bit_for_bit(times, options, tmp_path):
    run = make(times, **options)
    run.save(tmp_path / "run.npz")
    back = pk.load(tmp_path / "run.npz")
    assert back.model == run.model
    assert back.stats == run.stats
    for name in ("times", "tokens", "frozen", "frozen_weights", "final"):
        assert np.array_equal(getattr(back, name), getattr(run, name))
    if times == "steps":
        assert np.array_equal(back.dense, run.dense)
        assert np.array_equal(back.at(1.234), run.at(1.234))
    else:
        assert back.dense is None


def test_full_mask_and_plain_string_paths(tmp_path):
    model = pk.Attention(2, 3.0, mask="full")
    pk.simulate(model, np.eye(2), 1.0).save(str(tmp_path / "run.dat"))
    assert pk.load(str(tmp_path / "run.dat")).model == model


def test_saving_replaces_an_older_file(saved):
    make("final").save(saved)
    assert len(pk.load(saved).times) == 1
    assert list(saved.parent.iterdir()) == [saved]


@pytest.fixture(params=[OSError("disk full"), KeyboardInterrupt()], ids=repr)
def failure(request, monkeypatch):
    """What stops every save when half of the file is written."""

    def fail(file, arrays):
        file.write(b"half of it")
        raise request.param

    monkeypatch.setattr("parkade.base.npz.write", fail)
    return type(request.param)


def test_a_failed_save_leaves_nothing_behind(run, tmp_path, failure):
    with pytest.raises(failure):
        run.save(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_keeps_the_older_file(run, saved, failure):
    with pytest.raises(failure):
        run.save(saved)
    assert list(saved.parent.iterdir()) == [saved]
    assert np.array_equal(pk.load(saved).tokens, run.tokens)


def test_saving_where_no_file_can_be(run, tmp_path):
    with pytest.raises(pk.InputError, match=r"it is a directory; give a file name"):
        run.save(tmp_path)
    with pytest.raises(pk.InputError, match=r"the directory .*missing does not exist"):
        run.save(tmp_path / "missing" / "run.npz")


def refused(path, *words):
    """Check that `load` raises one sentence that names the file."""
    with pytest.raises(pk.InputError) as caught:
        pk.load(path)
    message = str(caught.value)
    assert "\n" not in message
    for word in (Path(path).name, *words):
        assert word in message


def test_loading_what_is_not_there(tmp_path):
    refused(tmp_path / "nothing.npz", "there is no file")


def test_loading_a_directory(tmp_path):
    refused(tmp_path, "cannot read")


@pytest.mark.parametrize(
    "head", [b"", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY\x01\x00", b"\x80\x04"]
)
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_loading_random_bytes(tmp_path, head, size):
    path = tmp_path / "noise.npz"
    path.write_bytes(head + np.random.default_rng(size).bytes(size))
    refused(path, "not a parkade trajectory")


@pytest.mark.parametrize("keep", [0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.9999])
def test_loading_a_truncated_file(saved, keep):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(keep * len(whole))])
    refused(saved, "not a parkade trajectory, or it is truncated", "run.save")


@pytest.mark.parametrize("seed", range(40))
def test_loading_a_damaged_file_never_crashes(saved, run, seed):
    # Three random bytes are changed: either this is detected or the arrays are the same.
    rng = np.random.default_rng(seed)
    data = bytearray(saved.read_bytes())
    for place in rng.integers(len(data), size=3):
        data[place] ^= int(rng.integers(1, 256))
    saved.write_bytes(data)
    with contextlib.suppress(pk.InputError):
        assert np.array_equal(pk.load(saved).tokens, run.tokens)


def test_loading_arrays_of_someone_else(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("other.npz", "array.npy"):
        refused(tmp_path / name, "not a parkade trajectory")


def changed(path, **changes):
    """Rewrite the file with other arrays and without a checksum, as a user might."""
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | changes)


def test_loading_a_later_format(saved):
    changed(saved, format="parkade trajectory 99")
    refused(saved, "'parkade trajectory 99'", "'parkade trajectory 2'")


@pytest.mark.parametrize("name", ["format", "stats", "model", "times", "tokens", "frozen"])
def test_loading_a_file_with_a_part_missing(saved, name):
    with np.load(saved) as file:
        arrays = {key: file[key] for key in file.files if key != name}
    np.savez(saved, **arrays)
    refused(saved, name)


def edited(model, **changes):
    """The text of a model with changed fields."""
    return np.array(json.dumps(json.loads(str(model)) | changes))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("times", lambda t: t[::-1], "times must not decrease"),
        ("times", lambda t: t[:-1], "tokens must be real numbers of shape"),
        ("times", lambda t: np.where(t == t[1], np.inf, t), "times must be finite"),
        ("times", lambda t: t.astype(complex), "times must be real numbers"),
        ("times", lambda t: t.astype(str), "times must be real numbers"),
        ("tokens", lambda x: x[:, :, :2], "tokens must be real numbers of shape"),
        ("tokens", lambda x: x[:, :0], "at least one token"),
        ("tokens", lambda x: 1.001 * x, "tokens must be unit vectors"),
        ("tokens", lambda x: np.full_like(x, np.nan), "tokens must be finite, got nan at"),
        ("dense", lambda x: x[:, :2], "dense must be real numbers of shape"),
        ("dense", lambda x: x / 0, "dense must be finite"),
        ("frozen", lambda x: np.ones((1, 3)), "frozen_weights must be real numbers of shape (1)"),
        ("frozen_weights", lambda x: np.ones(2), "frozen_weights must be real numbers of shape"),
        ("spin", lambda x: x[:2], "spin must be real numbers of shape (3, 3)"),
        ("trusted_until", lambda t: np.array(np.nan), "trusted_until must be ≥ 0"),
        ("model", lambda m: edited(m, beta=-1.0), "beta must be ≥ 0"),
        ("model", lambda m: edited(m, Q=[[1.0, 2.0]]), "Q must be a number"),
        ("model", lambda m: edited(m, mask="half"), "mask must be one of"),
        ("model", lambda m: edited(m, kind="half"), "unknown kind of model 'half'"),
        ("model", lambda m: edited(m, kind="head"), "not a valid model of kind head"),
        ("model", lambda m: edited(m, gamma=1.0), "not a valid model of kind attention"),
        ("model", lambda m: np.array("[1]"), "a model must be one JSON object"),
        ("model", lambda m: np.array("[" * 10**5), "model cannot be read"),
        ("format", lambda f: np.array(3), "format must be text"),
        ("stats", lambda s: np.array("{}"), "stats cannot be read"),
        ("stats", lambda s: np.array("[" * 10**5), "stats cannot be read"),
        ("stats", lambda s: np.array(str(s).replace("explicit", "euler")), "method of stats"),
        ("stats", lambda s: np.array(str(s).replace('"tol": ', '"tol": "x", "_": ')), "stats"),
        ("stats", lambda s: np.array(str(s).replace('"steps": ', '"steps": 0.')), "steps of stats"),
    ],
)
def test_loading_arrays_that_do_not_fit(saved, name, change, words):
    with np.load(saved) as file, np.errstate(all="ignore"):
        changed(saved, **{name: change(file[name])})
    refused(saved, words)


def test_loading_arrays_of_other_types(saved, run):
    # Other programs may write another memory order, which is valid.
    changed(saved, times=run.times.astype(">f8"), tokens=np.asfortranarray(run.tokens))
    back = pk.load(saved)
    assert np.array_equal(back.at(1.234), run.at(1.234))
    assert back.tokens.flags.c_contiguous
    assert back.times.dtype == np.float64


def test_loading_exchanged_arrays(saved):
    data = saved.read_bytes()
    assert data.count(b"tokens.npy") == data.count(b"frozen.npy") == 2
    for old, new in ((b"tokens", b"??????"), (b"frozen", b"tokens"), (b"??????", b"frozen")):
        data = data.replace(old + b".npy", new + b".npy")
    saved.write_bytes(data)
    refused(saved, "its checksum does not match")


def test_loading_does_not_trust_a_header(saved):
    # It claims 8 TB; the size of the file is unchanged.
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    shape = str(pk.load(saved).tokens.shape).encode()
    huge = b"(1000000000000,)".ljust(len(shape))
    members["tokens.npy"] = members["tokens.npy"].replace(shape, huge)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    refused(saved, "too short or too long for an array of shape (1000000000000,)")


def test_loading_more_than_fits_in_memory(saved, little_memory):
    refused(saved, "GiB of memory")


def test_dense_output_is_as_long_as_the_engines_make_it():
    assert {name: engine.dense for name, engine in METHODS.items()} == DENSE


class Bomb:
    """Would create a file if it were ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["format", "tokens"])
def test_loading_never_unpickles(saved, name):
    trace = saved.parent / "unpickled"
    changed(saved, **{name: np.array([Bomb(trace)], dtype=object)})
    refused(saved, "not a parkade trajectory")
    assert not trace.exists()


# --- at ----------------------------------------------------------------------------------


def test_at_gives_stored_tokens_at_stored_times(run):
    assert np.array_equal(run.at(run.times), run.tokens)
    assert np.array_equal(run.at(0.0), run.tokens[0])
    assert np.array_equal(run.at(3.0), run.final)


def test_at_shapes(run):
    n, d = run.final.shape
    assert run.at(1.5).shape == (n, d)
    assert run.at(1).shape == (n, d)
    assert run.at([1.5]).shape == (1, n, d)
    assert run.at([2.0, 0.0, 1.5, 1.5]).shape == (4, n, d)
    assert run.at([]).shape == (0, n, d)
    assert np.array_equal(run.at([2.0, 1.5])[1], run.at(1.5))


def test_at_returns_copies(run):
    before = run.tokens.copy()
    run.at(0.0)[:] = 7
    run.at(run.times)[:] = 7
    assert np.array_equal(run.tokens, before)


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (-0.1, r"t=-0\.1 is outside the run, which goes from 0 to 3"),
        ([1.0, 3.5], r"t=3\.5 is outside the run.*simulate with a larger t_end"),
        (np.nan, r"t must be finite, got nan"),
        ([[1.0]], r"t must be a number or a 1-D array, got shape \(1, 1\)"),
        ("soon", r"t must be real numbers, got 'soon'"),
    ],
)
def test_at_refuses(run, t, message):
    with pytest.raises(pk.InputError, match=message):
        run.at(t)


def test_at_without_dense_output():
    run = make([0.0, 1.0, 3.0])
    assert np.array_equal(run.at(1.0), run.tokens[1])
    message = r"t=0\.5 is not among the 3 saved times; simulate with times='steps'"
    with pytest.raises(pk.InputError, match=message):
        run.at([1.0, 0.5])


def test_at_of_a_final_run():
    run = make("final")
    assert np.array_equal(run.at(3.0), run.final)
    with pytest.raises(pk.InputError, match=r"t=0 is outside the run"):
        run.at(0.0)


# --- the rest ----------------------------------------------------------------------------


def test_repr(run):
    steps = run.stats.steps
    assert repr(run) == (
        f"Trajectory(7 tokens in d=3, t=0…3, {steps + 1} times, {run.stats.method}, {steps} steps)"
    )


def test_stats_add_up(run):
    stats = run.stats
    assert len(run.times) == len(run.tokens) == stats.steps + 1 == len(run.dense) + 1
    assert stats.evaluations >= stats.steps + stats.rejected
    assert stats.tol == 1e-6
    assert stats.seconds > 0
    assert stats.reason


@pytest.mark.parametrize("options", [{}, FROZEN], ids=["free", "frozen"])
def test_xarray_survives_netcdf(options, tmp_path):
    run = make(**options)
    run.to_xarray().to_netcdf(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        assert data.tokens.dims == ("time", "token", "coord")
        assert np.array_equal(data.tokens, run.tokens)
        assert np.array_equal(data.time, run.times)
        assert np.array_equal(data.token, np.arange(7))
        model = pk.Attention(
            beta=data.attrs["beta"],
            mask=data.attrs["mask"],
            **{name: json.loads(data.attrs[name]) for name in "QKV"},
        )
        assert model == run.model
        assert data.attrs["model"] == repr(run.model)
        assert data.attrs["method"] == run.stats.method
        assert data.attrs["steps"] == run.stats.steps
        assert ("frozen" in data) == bool(options)
        if options:
            assert np.array_equal(data.frozen, run.frozen)
            assert np.array_equal(data.frozen_weights, run.frozen_weights)
