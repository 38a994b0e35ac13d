"""Batches of one store that other versions, processors or libraries made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import netCDF4
import pytest
from support import commands

import parkade as pk
from parkade.sweeps import netcdf
from parkade.sweeps import versions as versions_of
from parkade.sweeps.versions import mixture, versions


def test_other_versions_are_noticed(tmp_path, monkeypatch):
    options = {"d": 2, "n": 4, "runs": 2, "t_end": 1.0, "store": tmp_path, "batch": 1}
    before = pk.__version__
    pk.ensemble(**options)
    (tmp_path / "batch-000001.nc").unlink()
    monkeypatch.setattr("parkade.__version__", "99")
    message = rf"made with different versions .*: parkade \({re.escape(before)}, 99\)"
    with pytest.warns(UserWarning, match=message):
        ds = pk.ensemble(**options)
    assert {v["parkade"] for v in json.loads(ds.attrs["versions"])} == {before, "99"}
    with pytest.warns(UserWarning, match=message):
        assert pk.load_ensemble(tmp_path).identical(ds)


def test_another_processor_or_library_is_shown(tmp_path, monkeypatch):
    file, store = tmp_path / "sweep.toml", tmp_path / "sweep"
    file.write_text("d = 2\nn = 4\nruns = 2\nt_end = 1\nbatch = 1\n")
    pk.ensemble(d=2, n=4, runs=2, t_end=1, batch=1, store=store)
    one = versions()
    for option in ("--status", "--check"):
        result = commands.invoke("sweep", file, option)
        assert (result.exit_code, "mixed" in result.stdout) == (0, False)
        assert json.loads(commands.invoke("sweep", file, option, "--json").stdout)["mixed"] is None
    (store / "batch-000001.nc").unlink()
    other = {**one, "cpu": "znver9", "scipy_blas": "openblas 0 Zen9", "scipy": "0"}
    monkeypatch.setattr(netcdf, "versions", lambda: other)
    mixed = mixture([one, other])
    assert mixed is not None
    assert all(f"{key} (" in mixed for key in ("cpu", "scipy_blas", "scipy"))
    with pytest.warns(UserWarning, match=re.escape(mixed)):
        pk.ensemble(d=2, n=4, runs=2, t_end=1, batch=1, store=store)
    for option in ("--status", "--check"):
        result = commands.invoke("sweep", file, option)
        assert (result.exit_code, f"mixed    {mixed}\n" in result.stdout) == (0, True)
        assert json.loads(commands.invoke("sweep", file, option, "--json").stdout)["mixed"] == mixed


BATCH = """
import os, sys
import numpy as np  # with its copy of the library
os.environ["OPENBLAS_CORETYPE"] = sys.argv[2]
import parkade as pk
pk.ensemble(d=9, n=4, runs=2, t_end=1, batch=1, workers=1, store=sys.argv[1])
"""


def copies_of_openblas():
    """How many copies of OpenBLAS there are that can also run the kernels named below."""
    import scipy.linalg  # noqa: F401  loads its copy
    from threadpoolctl import threadpool_info

    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    known = ("Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids")
    return sum(one.get("architecture") in known for one in libraries)


def test_the_library_that_compiled_code_calls_is_noted(tmp_path):
    """NumPy's copy has the same code in both batches, SciPy's has another one."""
    if copies_of_openblas() < 2:
        pytest.skip("NumPy and SciPy do not have copies of OpenBLAS with several kernels")
    file, store = tmp_path / "sweep.toml", tmp_path / "sweep"
    file.write_text("d = 9\nn = 4\nruns = 2\nt_end = 1\nbatch = 1\n")
    env = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    made = []
    for batch, kernel in enumerate(["Haswell", "Nehalem"]):
        subprocess.run([sys.executable, "-c", BATCH, store, kernel], env=env, check=True)
        with netCDF4.Dataset(store / f"batch-00000{batch}.nc") as one:
            made.append(json.loads(one.versions))
        if batch == 0:
            (store / "batch-000001.nc").unlink()
    assert made[0]["numpy_blas"] == made[1]["numpy_blas"]
    assert made[0]["numpy_blas"].endswith(" Haswell")
    assert [one["scipy_blas"].split()[-1] for one in made] == ["Haswell", "Nehalem"]
    mixed = mixture(made)
    assert mixed is not None
    assert mixed.partition(": ")[2] == (
        f"scipy_blas ({made[0]['scipy_blas']}, {made[1]['scipy_blas']})"
    )
    with pytest.warns(UserWarning, match=re.escape(mixed)):
        pk.load_ensemble(store)
    for option in ("--status", "--check"):
        assert f"mixed    {mixed}\n" in commands.invoke("sweep", file, option).stdout


def test_a_copy_is_also_known_by_its_folder(monkeypatch):
    """As on Windows, which does not say what a module calls."""
    if copies_of_openblas() < 2:
        pytest.skip("NumPy and SciPy do not have copies of OpenBLAS with several kernels")
    modules = versions_of._PRODUCTS, versions_of._COMPILED_PRODUCTS
    by_address = [versions_of._blas(*one) for one in modules]
    monkeypatch.setattr(versions_of, "_product", lambda _: None)
    assert [versions_of._blas(*one) for one in modules] == by_address


def test_batches_that_do_not_say_what_made_them_are_mixed_with_those_that_do():
    assert mixture([{"cpu": "a"}, {"cpu": "a", "scipy_blas": "b"}]) == (
        "the batches were made with different versions and may differ in the last bits: "
        "scipy_blas (b, unknown)"
    )
    assert mixture([{"cpu": "a"}]) is mixture([]) is None
