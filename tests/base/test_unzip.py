"""Archives that unpack to much more than they have: a sentence, and little memory."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from support import trained as tiny
from support import trained_files as written

import parkade as pk

SIZE = 70 * 2**20
"""What a bomb unpacks to, in bytes."""

LITTLE = 16 * 2**20
"""What a reader may use to refuse it."""


@pytest.fixture(scope="module", params=["bzip2", "deflate", "deflate, but hidden"])
def bomb(request):
    """A function that writes an archive with a member of a few kilobytes that unpacks to `SIZE`."""
    method = zipfile.ZIP_BZIP2 if request.param == "bzip2" else zipfile.ZIP_DEFLATED
    head = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (SIZE // 8,)}
    np.lib.format.write_array_header_1_0(head, about)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method, compresslevel=1) as archive:
        archive.writestr("x/data.pkl", head.getvalue() + bytes(SIZE))
    data = bytearray(made.getvalue())
    if "hidden" in request.param:  # the directory claims 200 bytes
        struct.pack_into("<I", data, data.rfind(b"PK\x01\x02") + 24, 200)

    def write(path, name):
        assert len(name) == len("x/data.pkl")
        path.write_bytes(data.replace(b"x/data.pkl", name.encode()))
        return path

    return write


def refused(read, *args):
    """Check that the answer is one sentence, and how much memory it takes."""
    tracemalloc.start()
    try:
        with pytest.raises(pk.InputError) as caught:
            read(*args)
        assert "\n" not in str(caught.value)
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["format.npy", "tokens.npy"])
def test_runs(tmp_path, bomb, name):
    refused(pk.load, bomb(tmp_path / "run.npz", name))


def test_weights(tmp_path, bomb):
    folder = written.write_folder(tmp_path, *tiny.llama(np.random.default_rng(1)), form="zip")
    bomb(folder / "pytorch_model.bin", "x/data.pkl")
    refused(pk.trained.load, folder)


def test_runs_packed_by_others_are_read(tmp_path):
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=1), 1.0)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        np.savez_compressed(tmp_path / "small.npz", **file)
    again = pk.load(tmp_path / "small.npz")
    assert np.array_equal(again.tokens, run.tokens)
    assert again.stats == run.stats


def test_arrays_that_do_not_fit_are_not_unpacked(tmp_path):
    """Each array is bounded by those before it, of which the first is the format."""
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=1), 1.0)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays = dict(file)
    for name in ("format", "stats", "times", "tokens", "dense", "frozen_weights", "spin"):
        shape = () if arrays[name].ndim == 0 else (3, 2**20)
        long = np.zeros(shape, "U8000000" if not shape else np.int8)
        np.savez_compressed(tmp_path / "long.npz", **(arrays | {name: long}))
        refused(pk.load, tmp_path / "long.npz")
