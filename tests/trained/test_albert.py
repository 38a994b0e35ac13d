"""A real model: ALBERT for chemical reactions, as trained."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import parkade as pk
from parkade.engine.compile import cache
from parkade.trained import packages

REACTIONS = [
    "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "CCO.CC(=O)O>>CC(=O)OCC",
]


def test_it_guesses_masked_atoms(albert):
    """Trained on reactions, it is right nearly always; random weights are right in 1 of 591."""
    mask, right, total = albert.tokenizer.words.index("[MASK]"), 0, 0
    for text in REACTIONS:
        ids = albert.encode(text)
        for i in range(1, len(ids) - 1, 3):
            guess = albert.read([*ids[:i], mask, *ids[i + 1 :]]).logits[i].argmax()
            right, total = right + (guess == ids[i]), total + 1
    assert total == 25
    assert right >= 23
    ids = albert.encode(REACTIONS[0])
    random = albert.redrawn(1).read(ids).logits.argmax(axis=1)
    assert (random == ids).mean() < 0.5


def test_it_knows_its_words(albert):
    reading = albert.read(REACTIONS[0])
    assert reading.words[:5] == ["[CLS]", "C", "C", "(", "C"]
    assert "[O-]" in reading.words
    assert albert.decode(reading.ids) == REACTIONS[0]
    assert "[UNK]" not in reading.words


def test_its_layer_is_a_parkade_model(albert):
    """Attention of the trained layer by `pk.forward`, from and to its own tokens."""
    reading = albert.read(REACTIONS[1])
    first, second = albert.block(0).norms

    def undone(norm, states):
        return pk.sphere.normalize((states.astype(float) - norm.bias) / norm.gain)

    path = pk.forward(albert.layer(5, mlp=False), undone(second, reading.hidden[5]), 1)
    assert np.abs(path.final - undone(first, reading.middle[5])).max() < 1e-6


def test_its_heads(albert):
    """Spectra of single weights against a direct computation, and far from random ones."""
    table = albert.heads(draws=319, seed=1)
    assert table.sizes["head"] == 8
    assert float(table.beta.min()) > 5
    assert (table.balance_holm.values < 0.05).sum() > 60
    block, h = albert.block(3), 2
    rows, gain = slice(32 * h, 32 * h + 32), albert.block(2).norms[1].gain.astype(float)
    C = np.eye(256) - 1 / 256
    V = C @ block.attention.o[:, rows].astype(float) @ block.attention.v[rows] @ np.diag(gain) @ C
    values = np.linalg.eigvals(V)
    lead = values[np.argsort(-np.abs(values))][:32]
    spectrum = table.spectrum.values[3, h]
    assert np.abs(np.sort(np.abs(spectrum)) - np.sort(np.abs(lead))).max() < 1e-9


def test_it_is_downloaded_once(albert, monkeypatch):
    monkeypatch.setattr(packages.subprocess, "run", None)  # nothing is fetched again
    assert packages.fetch("ALBERT-rxn").is_dir()


def test_models_are_data_of_the_user(albert, monkeypatch, tmp_path):
    """They have a directory of their own, so clearing the cache of machine code removes none."""
    monkeypatch.delenv("PARKADE_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "")
    assert packages._home() == Path("~/.local/share/parkade/models").expanduser()
    source = packages.fetch("ALBERT-rxn")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert packages._home() == tmp_path / "data" / "parkade" / "models"
    shutil.copytree(source, packages._home() / "ALBERT-rxn")
    code = cache.private_directory("0123456789abcdef")
    os.utime(code, (0, 0))
    cache.tidy(cache.private_directory("fedcba9876543210"))
    assert not code.exists()
    for place in cache.places():
        assert place not in packages._home().parents
    shutil.rmtree(tmp_path / "cache")
    assert packages.find("ALBERT-rxn").is_dir()


def test_the_place_of_models_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("PARKADE_MODELS", str(tmp_path / "models"))
    with pytest.raises(pk.InputError, match=f"ALBERT-rxn is not in {tmp_path}/models yet"):
        packages.find("ALBERT-rxn")
    assert not (tmp_path / "models").exists()  # looking makes nothing
    (tmp_path / "models").write_text("a file")
    with pytest.raises(pk.InputError, match="cannot make the directory"):
        packages.fetch("ALBERT-rxn")
    monkeypatch.setenv("PARKADE_MODELS", "~nobody-of-this-name")
    with pytest.raises(pk.InputError, match="set PARKADE_MODELS to a directory"):
        packages.find("ALBERT-rxn")


def test_another_package_is_refused(tmp_path, monkeypatch):
    """A package whose files changed is not stored; a missing one gives a sentence."""
    import zipfile

    monkeypatch.setenv("PARKADE_MODELS", str(tmp_path))
    entry = packages.catalogue()["ALBERT-rxn"]

    def download(entry, folder):
        with zipfile.ZipFile(folder / "x.whl", "w") as wheel:
            for name in entry.files:
                wheel.writestr(f"{entry.folder}/{name}", b"other")
        return folder / "x.whl"

    with pytest.raises(pk.InputError, match="say parkade trained --get ALBERT-rxn"):
        pk.trained.load("ALBERT-rxn")
    killed = tmp_path / ".fetch-killed" / "package"
    killed.mkdir(parents=True)
    os.utime(killed.parent, (0, 0))
    with monkeypatch.context() as patch:
        patch.setattr(packages, "_download", download)
        with pytest.raises(pk.InputError, match="is not the file it was: its SHA-256 is d9298a10d"):
            packages.fetch(entry.name)
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(pk.InputError, match=r"pip could not get rxnmapper==0\.4\.3: ERROR"):
        packages.fetch(entry.name)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pk.InputError, match="stories15M comes by npm, which is not on this"):
        packages.fetch("stories15M")
    with pytest.raises(pk.InputError, match="name must be one of 'stories15M'"):
        packages.fetch("GPT-5")


def test_names_that_nobody_has(monkeypatch):
    with pytest.raises(pk.InputError, match="no model of this name in the catalogue"):
        pk.trained.load("no-such-model")
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(pk.InputError, match="pip install huggingface_hub"):
        pk.trained.load("owner/model")
