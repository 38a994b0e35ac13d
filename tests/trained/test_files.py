"""Damaged, hostile and unknown files: one sentence, and nothing is executed."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from support import trained as tiny
from support import trained_files as written

import parkade as pk
from parkade.trained.formats import pickles, torch

IDS = [3, 1, 4, 1, 5]
# Parts of a pickle of PyTorch: the numbers of a tensor, and what makes a tensor of them.
NUMBERS = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
STORAGE = NUMBERS + b"X\x01\x00\x00\x000NK\x09tQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"


@pytest.fixture
def llama():
    return tiny.llama(np.random.default_rng(7))


@pytest.fixture
def zipped(tmp_path, llama):
    """A folder with a zipped file of PyTorch."""
    return written.write_folder(tmp_path / "model", *llama, form="zip")


def refused(path, words):
    with pytest.raises(pk.InputError, match=words) as caught:
        pk.trained.load(path).read(IDS)
    assert "\n" not in str(caught.value)


class Call:
    """Something whose pickle calls a function."""

    def __init__(self, function, *arguments):
        self.how = function, arguments

    def __reduce__(self):
        return self.how


def write_pickle(folder, content, *numbers):
    """A zipped file of PyTorch with this pickle, and the numbers of its first tensor."""
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", content)
        for i, data in enumerate(numbers):
            archive.writestr(f"archive/data/{i}", data)


def marker(tmp_path):
    return Call(os.mkdir, str(tmp_path / "executed"))


@pytest.mark.parametrize("form", ["zip", "legacy"])
@pytest.mark.parametrize(
    "make",
    [
        marker,
        lambda tmp_path: Call(os.system, f"touch {tmp_path}/executed"),
        lambda tmp_path: Call(eval, f"open('{tmp_path}/executed', 'w')"),
        lambda tmp_path: Call(exec, f"open('{tmp_path}/executed', 'w')"),
        lambda tmp_path: Call(getattr, "text", "upper"),
        lambda tmp_path: {"weight": marker(tmp_path)},
        lambda tmp_path: Call(__import__, "antigravity"),
        lambda tmp_path: Call(bytearray, 10**15),
        lambda tmp_path: np.zeros(3),
    ],
)
def test_pickles_that_call_are_refused(tmp_path, zipped, form, make):
    content = pickle.dumps(make(tmp_path), 2)
    if form == "zip":
        write_pickle(zipped, content)
    else:
        (zipped / "pytorch_model.bin").write_bytes(content)
    refused(zipped, "which is not a tensor|is not a file of weights")
    assert not (tmp_path / "executed").exists()


def test_pickles_by_hand_are_refused(zipped):
    """Opcodes that reach for names, attributes, state and memory in other ways."""
    attacks = {
        "stack global": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
        "inst": b"(S'true'\nios\nsystem\n.",
        "nested name": b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.__init__\x93.",
        "dunder of torch": b"ctorch\n__builtins__\n.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"\x80\x02X\x07\x00\x00\x00storageQ.",
        "build on a type": b"ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",
        "huge string": b"\x80\x04\x8d" + struct.pack("<Q", 2**60) + b".",
        "huge memo": b"\x80\x02Nr\xff\xff\xff\x7f.",
        "large memo": b"\x80\x02Nr\x00\x00\x00\x08.",
        "deep": b"\x80\x02" + b"(" * 100_000 + b"t" * 100_000 + b".",
        "endless": b"\x80\x02" + b"]" * 10,
        "tensor of nothing": b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00))tR.",
    }
    for content in attacks.values():
        write_pickle(zipped, content)
        refused(zipped, "is not a file of weights|no tensor|not enough memory")


def test_pickles_that_take_forever_are_refused(zipped):
    """Tuples of tuples, where a hash or a text of the outermost has 2⁶⁰ parts."""
    nested = b")" + b"q\x00h\x00\x86" * 60
    long = b"(" + (b"\x8a\xff" + b"\x7f" * 255) * 5000 + b"t"
    begin = TENSOR + b"(" + STORAGE + b"K\x00"
    attacks = {
        "key": b"}" + nested + b"Ns.",
        "keys": b"}(" + nested + b"Nu.",
        "key of an ordered dictionary": b"ccollections\nOrderedDict\n)R" + nested + b"Ns.",
        "items": b"ccollections\nOrderedDict\n(](" + nested + b"N\x86etR.",
        "set": b"\x80\x04\x8f(" + nested + b"\x90.",
        "frozen set": b"\x80\x04(" + nested + b"\x91.",
        "key of numbers": NUMBERS + nested + b"NK\x09tQ.",
        "kind of numbers": b"(X\x07\x00\x00\x00storage" + nested + b"NNK\x09tQ.",
        "shape": begin + nested + nested + b"tR.",
        "long numbers": begin + long + long + b"tR.",
        "many numbers": begin + (b"(" + b"K\x09" * 99999 + b"t") * 2 + b"tR.",
    }
    for content in attacks.values():
        write_pickle(zipped, b"\x80\x02" + content, bytes(36))
        refused(zipped, "is not a file of weights")


def test_pickles_set_no_attributes(zipped):
    """Attributes of the reader's own functions, types and tensors, set by the opcode BUILD."""
    whole = TENSOR + b"(" + STORAGE + b"K\x00K\x09\x85K\x01\x85tR"
    state = b"}X\x07\x00\x00\x00stridesJ\x00\xff\xff\xff\x85s"
    slots = b"N}X\x0c\x00\x00\x00__defaults__K\x05\x85s\x86"
    for content in (
        TENSOR + slots,
        TENSOR + state,
        b"ctorch._utils\n_rebuild_parameter\n" + slots,
        b"ccollections\nOrderedDict\n" + state,
        whole + state,
        STORAGE + state,
    ):
        write_pickle(zipped, b"\x80\x02}X\x01\x00\x00\x00a" + content + b"bs.", bytes(36))
        refused(zipped, "is not a file of weights.*as a dict")


def test_tensors_beyond_their_numbers_are_refused(tmp_path):
    values = np.zeros((2, 3), np.float32)
    for strides, shape in (((10**9, 1), (2, 3)), ((3, 1), (10**6, 3)), ((0, 0), (2**40, 2**20))):
        bad = np.lib.stride_tricks.as_strided(values, (2, 3), (12, 4))
        path = tmp_path / "bad.bin"
        written.write_zip(path, {"a": bad})
        with zipfile.ZipFile(path) as archive:
            content = archive.read("archive/data.pkl")
        inside = pickles.Machine().load(io.BytesIO(content))["a"]
        wrong = pickles.Tensor(inside.storage, 0, shape, strides)
        with pytest.raises(ValueError, match=r"beyond|larger"):
            torch._stored(np.zeros(24, np.uint8), wrong, 0)


@pytest.mark.parametrize("form", ["safetensors", "zip", "legacy", "shards"])
def test_truncated_folders(tmp_path, llama, form):
    folder = written.write_folder(tmp_path / "model", *llama, form=form)
    file = max(folder.glob("*.bin"), default=None) or max(folder.glob("*.safetensors"))
    whole = file.read_bytes()
    for share in (0.0, 0.001, 0.1, 0.5, 0.9, 0.999):
        file.write_bytes(whole[: int(share * len(whole))])
        refused(folder, "truncated or damaged|no tensor")
    file.unlink()
    refused(folder, "there are no weights|there is no file")


@pytest.mark.parametrize("form", ["gguf", "llama2c"])
def test_truncated_and_damaged_files(tmp_path, llama, form):
    write = written.write_gguf if form == "gguf" else written.write_llama2c
    path = write(tmp_path / "model.x", *llama)
    whole = path.read_bytes()
    for share in (0.0, 0.001, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        refused(path, "truncated|damaged|no tensor")
    rng = np.random.default_rng(1)
    for _ in range(150):  # flipped bytes of the header: a sentence, or a model of other numbers
        broken = bytearray(whole)
        for place in rng.integers(4, min(len(whole), 1500), 3):
            broken[place] = rng.integers(256)
        path.write_bytes(broken)
        with suppress(pk.InputError):
            pk.trained.load(path).read(IDS)


def test_damaged_headers_of_safetensors(tmp_path, llama):
    folder = written.write_folder(tmp_path / "model", *llama)
    file = folder / "model.safetensors"

    def write(header, size=None, data=b"\0" * 64):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + data)

    entry = {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}
    for change in (
        {"shape": [4, 5]},
        {"shape": [-4, -4]},
        {"shape": [2**40, 2**40]},
        {"shape": ["4", 4]},
        {"data_offsets": [64, 128]},
        {"data_offsets": [-64, 0]},
        {"data_offsets": None},
        {"data_offsets": [0.5, 64.5]},
        {"data_offsets": [False, 64]},
        {"shape": [True, 16]},
        {"shape": [10**4000] * 500},
        {"shape": [2**61] * 100_000},
        {"shape": [1] * 100 + [16]},
    ):
        write({"a": entry | change})
        refused(folder, "truncated or damaged")
    write({"a": entry | {"dtype": "F" * 5_000_000}})
    refused(folder, r"numbers of the type 'F{56}\.\.\.; known are F64")
    write({"a": entry | {"dtype": "F8_E4M3"}})
    refused(folder, "numbers of the type 'F8_E4M3'; known are F64")
    for header in (b"{", b"[1]", b"\xff\xff", b"[" * 100_000):
        write(header)
        refused(folder, "truncated or damaged")
    write({"a": entry}, size=2**63)
    refused(folder, "its header claims")


def test_shards_stay_in_their_folder(tmp_path, llama):
    folder = written.write_folder(tmp_path / "model", *llama, form="shards")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../other.safetensors"}}))
    refused(folder, "names files outside its folder")


def test_missing_wrong_and_infinite_tensors_are_named(tmp_path, llama):
    config, tensors = llama
    name = "model.layers.1.mlp.up_proj.weight"

    def write(**changes):
        remaining = {k: v for k, v in (tensors | changes).items() if v is not None}
        return written.write_folder(tmp_path / "model", config, remaining)

    refused(write(**{name: None}), f"the weights have no tensor {name}")
    refused(write(**{name: np.zeros((3, 2), np.float32)}), rf"{name} has the shape \(3, 2\)")
    broken = tensors[name].copy()
    broken[2, 1] = np.nan
    refused(write(**{name: broken}), f"{name} must be finite, got nan at index 2, 1")


def test_unknown_things(tmp_path, llama):
    config, tensors = llama
    path = tmp_path / "model"
    write = written.write_folder
    known = (
        "the architecture 'mamba' is unknown; known are llama, mistral, qwen2, qwen3, gemma, gemma2"
    )
    refused(write(path, config | {"model_type": "mamba"}, tensors), known)
    refused(write(path, config | {"hidden_size": -3}, tensors), "hidden_size of the model must be")
    refused(write(path, config | {"hidden_size": 10**12}, tensors), "hidden_size of the model")
    refused(write(path, config | {"num_attention_heads": 5}, tensors), "hidden_size cannot be div")
    refused(write(path, config | {"hidden_act": "mish"}, tensors), "hidden_act of the model must")
    (path / "config.json").write_text("[1, 2")
    refused(path, "config.json is not settings in JSON")
    (path / "config.json").unlink()
    refused(path, "there is no config.json")
    other = tmp_path / "other.xyz"
    other.write_bytes(b"hello world, this is no model" * 10)
    refused(other, "has no known format")
    with pytest.raises(pk.InputError, match="dtype must be one of"):
        pk.trained.load(path, dtype="int8")
    with pytest.raises(pk.InputError, match="path must be a path or a name, got 3"):
        pk.trained.load(3)


def test_wrong_input(tmp_path, llama):
    model = pk.trained.load(written.write_folder(tmp_path / "model", *llama))
    for ids, words in (
        ([], "ids must be a list of whole numbers"),
        ([0.5], "ids must be a list of whole numbers"),
        ([3, 19], "ids must lie in 0 … 18, got 19"),
        ([1] * 17, "reads at most 16 tokens, got 17"),
        ("text", "has no tokenizer of a known kind, .*; pass ids instead of text"),
    ):
        with pytest.raises(pk.InputError, match=words):
            model.read(ids)
    with pytest.raises(pk.InputError, match="what must be one of 'mlp', 'attention'"):
        model.without("norm")
    with pytest.raises(pk.InputError, match="clock must be one of"):
        model.read(IDS).path("hours")


def test_little_memory(tmp_path, llama, little_memory):
    model = pk.trained.load(written.write_folder(tmp_path / "model", *llama))
    with pytest.raises(pk.InputError, match="16 tokens in all layers needs"):
        model.read(list(range(16)), attention=True)


def test_files_are_read_when_needed(tmp_path, llama):
    """Loading checks names and shapes; a damaged number shows when its layer is read."""
    config, tensors = llama
    tensors["model.layers.1.mlp.up_proj.weight"][0, 0] = np.inf
    model = pk.trained.load(written.write_folder(tmp_path / "model", config, tensors))
    model.block(0)
    with pytest.raises(pk.InputError, match=r"layers\.1\.mlp\.up_proj"):
        model.block(1)
