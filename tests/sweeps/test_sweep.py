"""`parkade sweep` and the phase diagram: what they show, and how they refuse."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from support import commands
from support.common import without_patience

import parkade as pk
from parkade import plots
from parkade.cli.sweep import FILE, read_recipe

SMALL = """\
d = 2
n = 8
beta = [1, 4, 16]
runs = 4
t_end = 5
times = {from = 0.5, to = 5, count = 3}
"""


@pytest.fixture
def here(here):
    (here / "small.toml").write_text(SMALL)
    return here


def invoke(*args):
    return commands.invoke("sweep", *args)


def test_a_sweep_is_the_ensemble_of_its_file(here):
    result = invoke("small.toml", "--workers", 2, "--plot", "phase.svg")
    assert (result.exit_code, without_patience(result.stderr)) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "grid     3 beta",
        "runs     4 at each point, 12 simulations to t=5",
        "measure  clusters",
        "radius   0.025 to 0.1 (of clusters)",
    ]
    assert lines[4].startswith("done     12 of 12 batches now, in ")
    assert lines[5:] == [
        "store    small",
        "plot     phase.svg",
        'read it  parkade.load_ensemble("small")',
    ]
    expected = pk.ensemble(
        d=2, n=8, beta=[1, 4, 16], runs=4, t_end=5.0, times={"from": 0.5, "to": 5, "count": 3}
    )
    assert pk.load_ensemble("small").identical(expected)
    assert b"<svg" in (here / "phase.svg").read_bytes()
    data = json.loads(invoke("small.toml", "--json").stdout)
    assert (data["batches_made"], data["batches_done"], data["simulations"]) == (0, 12, 12)
    assert data["recipe"] == json.loads(expected.attrs["recipe"])


def test_the_radius_of_clusters_is_an_entry_of_the_file(here):
    def shown(entry):
        (here / "small.toml").write_text(f"{SMALL}{entry}\n")
        return invoke("small.toml", "--status").stdout.splitlines()

    assert "radius   0.2, 0.5 (of clusters)" in shown("cluster_radius = [0.2, 0.5]")
    refused = invoke("small.toml", "--plot", "phase.svg").stderr
    assert "got a sweep of beta, cluster_radius that measures clusters" in refused
    assert "radius   that of the model drawn for each run (of clusters)" in shown("heads = 2")
    assert not any(line.startswith("radius") for line in shown('measure = "final"'))


def test_status_shows_what_is_done_and_runs_nothing(here):
    result = invoke("small.toml", "--status")
    assert "done     0 of 12 batches (0 %)\nstore    small\n" in result.stdout
    assert not (here / "small").exists()
    invoke("small.toml", "--pool", "threads")
    (here / "small" / "batch-000003.nc").unlink()
    assert "done     11 of 12 batches (92 %)" in invoke("small.toml", "--status").stdout
    (here / "small.toml").write_text(SMALL + "seed = 1\n")
    differs = "differs  from the file: seed (0 in the store, 1 requested)\n"
    assert invoke("small.toml", "--status").stdout.endswith(differs)


def test_tokens_come_from_a_file_next_to_the_recipe(here):
    x = pk.sphere.uniform(5, 3, seed=1)
    (here / "sub").mkdir()
    np.save(here / "sub" / "x.npy", x)
    (here / "sub" / "a.toml").write_text('start = "x.npy"\nruns = 1\n')
    recipe = read_recipe(here / "sub" / "a.toml")
    assert (recipe.axes["n"].values, recipe.axes["d"].values) == ((5,), (3,))


def test_the_file_in_the_help_is_one(here):
    (here / "help.toml").write_text(FILE)
    assert read_recipe(here / "help.toml").total == 400
    assert all(line in invoke("--help").stdout for line in FILE.splitlines())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "d = 2\nbetas = 1",
            [],
            "small.toml has the unknown key 'betas'; use one of n, runs, t_end",
        ),
        ("d = 2\nstore = 'x'", [], "small.toml has the unknown key 'store'; use one of n, runs"),
        ("d = 2\nreport = 1", [], "small.toml has the unknown key 'report'; use one of n, runs"),
        ("d = ", [], "small.toml is not a TOML file: Invalid value"),
        ("n = 3", [], "Q, K, V and start must imply one dimension, got none; give d"),
        ("d = 2\nstart = 'no.npy'", [], "start: there is no file no.npy"),
        (SMALL, ["--pool", "fibres"], "executor must be one of 'threads', 'processes', got 'fib"),
        (SMALL, ["--workers", "0"], "workers must be a whole number ≥ 1, got 0"),
        (SMALL, ["--plot", "x.gif"], "cannot write x.gif: its name must end in .png, .pdf, .svg"),
        (SMALL + "mask = ['causal', 'full']", ["--plot", "x.pdf"], "--plot draws clusters over"),
        (SMALL + "measure = 'final'", ["--plot", "x.pdf"], "--plot draws clusters over beta"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(here, text, options, message):
    (here / "small.toml").write_text(text)
    result = invoke("small.toml", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"parkade: {message}")
    assert len(result.stderr.splitlines()) == 1
    assert not list(here.glob("small/batch*"))


def test_a_missing_file_is_reported(here):
    result = invoke("none.toml")
    sentence = "there is no file none.toml; parkade sweep --help shows an example"
    assert result.stderr == f"parkade: {sentence}\n"


def test_missing_dask_is_reported(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = invoke("small.toml", "--scheduler", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "--scheduler needs Dask, which is not installed; pip install" in result.stderr


# The phase diagram


@pytest.fixture(scope="module")
def dataset():
    return pk.ensemble(
        d=2, n=8, beta=[16, 1, 4], runs=3, t_end=5.0, times=[0, 0.5, 1, 5],
        measure=["clusters", "consumption", "final"],
    )  # fmt: skip


@pytest.mark.parametrize("variable", ["clusters", "largest"])
def test_the_phase_diagram_shows_means_over_beta_and_time(dataset, variable):
    ax = plots.phase_diagram(dataset, variable)
    (mesh,) = ax.collections
    mean = dataset[variable].mean("run").sel(beta=[1, 4, 16], time=[0.5, 1, 5])
    np.testing.assert_allclose(np.asarray(mesh.get_array()).reshape(3, 3), mean.values)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time t", "inverse temperature β")
    assert mesh.get_cmap().name == "cividis"
    corners = mesh.get_coordinates()
    assert (np.diff(corners[0, :, 0]) > 0).all()
    assert (np.diff(corners[:, 0, 1]) > 0).all()
    assert corners[0, 0, 1] < 1 < corners[1, 0, 1] < 4 < corners[2, 0, 1] < 16


def test_the_phase_diagram_draws_a_choice_on_given_axes(dataset):
    figure = plots.new_figure()
    ax = figure.add_subplot()
    chosen = dataset.sel(kind="strong").isel(time=slice(1, None))
    assert plots.phase_diagram(chosen, "consumed", ax=ax) is ax
    assert figure.axes[1].get_ylabel() == "consumed fraction"


def test_the_phase_diagram_needs_positive_beta_for_a_logarithmic_axis():
    ds = pk.ensemble(d=2, n=4, beta=[0, 1, 2, 3], runs=1, t_end=1.0)
    assert plots.phase_diagram(ds).get_yscale() == "linear"


@pytest.mark.parametrize(
    ("choose", "variable", "message"),
    [
        (lambda ds: ds, "size", r"has no variable 'size', only clusters, largest"),
        (lambda ds: ds, "final", r"but it has no dimension 'time'"),
        (lambda ds: ds.isel(beta=0), "clusters", r"but it has no dimension 'beta'; sweep a list"),
        (lambda ds: ds, "consumed", r"depends on kind as well; choose .* ds.sel\(kind='renyi'\)"),
        (lambda ds: ds.sel(time=[0.0]), "clusters", r"needs times > 0"),
        (lambda ds: 3, "clusters", r"needs a Dataset, got int"),
        (lambda ds: ds * np.nan, "clusters", r"has no values yet: no batch is done"),
    ],
)
def test_the_phase_diagram_refuses(dataset, choose, variable, message):
    with pytest.raises(pk.InputError, match=message):
        plots.phase_diagram(choose(dataset), variable)


def test_check_names_what_is_bad(here):
    assert invoke("small.toml", "--check").exit_code == 2  # there is no store yet
    invoke("small.toml")
    result = invoke("small.toml", "--check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[4:] == ["checked  12 of 12 batches", "store    small"]
    bad = here / "small" / "batch-000007.nc"
    bad.write_bytes(bad.read_bytes()[:-1])
    result = invoke("small.toml", "--check")
    assert result.exit_code == 2
    reason = "its checksum does not match"
    assert f"bad      batch-000007.nc: {reason}" in result.stdout.splitlines()
    remedy = "run the same command without --check to compute them again"
    assert result.stderr == f"parkade: small has 1 bad file; {remedy}\n"
    recipe = here / "small" / "recipe.json"
    recipe.write_bytes(recipe.read_bytes()[:-2])
    result = invoke("small.toml", "--check", "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["batches_done"]) == (2, 12)
    assert list(data["bad"]) == ["recipe.json", "batch-000007.nc"]
    assert data["bad"]["batch-000007.nc"] == reason
    # That is what happens.
    result = invoke("small.toml", "--json")
    assert result.exit_code == 0
    assert "are computed again; see batch-000007.nc.damaged" in result.stderr
    assert json.loads(result.stdout)["batches_made"] == 1
    assert invoke("small.toml", "--check").exit_code == 0
    (here / "small.toml").write_text(SMALL.replace("runs = 4", "runs = 5"))
    assert "contains another ensemble: runs" in invoke("small.toml", "--check").stderr


def test_noise_is_an_axis_of_a_file(here):
    (here / "noisy.toml").write_text(SMALL.replace("beta = [1, 4, 16]", "noise = [4, inf]"))
    assert invoke("noisy.toml").exit_code == 0
    result = pk.load_ensemble("noisy")
    assert result.noise.values.tolist() == [4.0, np.inf]
