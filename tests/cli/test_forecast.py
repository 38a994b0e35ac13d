"""`--forecast` of the commands: what they print and draw, and how they refuse."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.commands import invoke

import parkade as pk
from parkade.cli import forecast
from parkade.theory.merge_tree import Merge, MergeTree

OPTIONS = ["--n", "40", "--d", "2", "--beta", "16", "--t-end", "1e20", "--seed", "3"]


@pytest.fixture(scope="module")
def run():
    return pk.simulate(pk.Attention(2, beta=16.0), pk.sphere.uniform(40, 2, seed=3), 1e20)


@pytest.fixture(scope="module")
def saved(run, tmp_path_factory):
    file = tmp_path_factory.mktemp("runs") / "run.npz"
    run.save(file)
    return file


def test_the_forecast_stands_beside_what_was_seen(run, saved):
    result = invoke("timeline", saved, "--forecast")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    plain, _, after = result.stdout.partition("\nForecast from the start alone\n")
    assert plain == invoke("timeline", saved).stdout
    lines = after.splitlines()
    merges = run.merge_tree().merge_table()
    assert [line.split()[:3] for line in lines[1 : len(merges) + 1]] == [
        [row["time"], row["cluster"], row["joins"]] for row in merges
    ]
    assert lines[-1].startswith("forecast: 3 of 3 partners right after t=100, ln t off by 0.0")
    assert invoke("timeline", *OPTIONS, "--forecast").stdout == result.stdout


def test_json_has_the_tree_and_the_agreement(run, saved):
    data = json.loads(invoke("timeline", saved, "--forecast", "--json").stdout)
    tree = pk.theory.forecast(run.tokens[0], run.model)
    agreement = pk.clusters.agreement(tree, run.merge_tree())
    forecast = data.pop("forecast")
    assert data == json.loads(run.merge_tree().to_json())
    assert forecast["tree"] == json.loads(tree.to_json())
    assert forecast["agreement"]["right"] == agreement.right.tolist()
    assert forecast["agreement"]["log_ratio"] == pytest.approx(agreement.log_ratio)
    assert forecast["agreement"]["error"] == pytest.approx(agreement.error)


def test_newick_has_a_second_line(run, saved):
    seen, predicted = invoke("timeline", saved, "--forecast", "--newick").stdout.splitlines()
    assert seen == run.merge_tree().to_newick()
    assert predicted == pk.clusters.forecast_of(run).to_newick()


def test_wrong_and_missing_forecasts_are_shown():
    seen = MergeTree(5, 0.0, 1e9, 0.1, 2.0, (Merge(50.0, 4, 3, 1), Merge(1e3, 3, 1, 2)))
    predicted = MergeTree(5, 0.0, 1e9, 0.1, 2.0, (Merge(2e3, 3, 0, 1), Merge(1e6, 2, 0, 1)))
    first, second, _, *closing = forecast.as_text(predicted, seen).splitlines()[2:]
    assert first.split() == ["50", "4", "3", "never"]
    assert second.split() == ["1000", "3", "1", "2000", "0", "(wrong)", "+0.693"]
    assert closing == [
        "forecast: 0 of 1 partner right after t=100",
        "forecast before t=1e+09 but not seen: 1",
    ]
    data = forecast.as_data(predicted, seen)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["agreement"]["error"] is None


def test_nothing_to_compare_is_said():
    tree = MergeTree(2, 0.0, 10.0, 0.1, 2.0, ())
    assert forecast.as_text(tree, tree).splitlines() == [
        "Forecast from the start alone",
        "  none",
        "",
        "forecast: no merges after t=100 to compare with",
    ]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (pk.Attention(2), {"times": [1.0, 10.0]}, "needs the start of a run"),
        (pk.Attention(2), {"frozen": [[0.0, 1.0]]}, "is for free tokens only"),
        (pk.Attention(2, mask="full"), {}, "needs the causal mask"),
        (pk.Attention(V=[1, -1]), {}, "needs a V whose leading eigenvalue"),
        (pk.Attention(2), {"schedule": pk.Schedule([0, 5], [4, 9])}, "needs one attention head"),
    ],
)
def test_what_cannot_be_forecast_is_refused(tmp_path, model, options, message):
    file = tmp_path / "run.npz"
    pk.simulate(model, pk.sphere.uniform(5, 2, seed=1), 10.0, **options).save(file)
    result = invoke("timeline", file, "--forecast")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_path_without_a_model_is_refused(tmp_path):
    file = tmp_path / "path.npz"
    pk.Path(np.array([0.0, 1.0]), np.tile(np.eye(2), (2, 1, 1))).save(file)
    result = invoke("timeline", file, "--forecast")
    assert result.exit_code == 2
    assert "needs a model" in result.stderr


def test_simulate_draws_the_forecast(tmp_path):
    plain, predicted = tmp_path / "plain.svg", tmp_path / "predicted.svg"
    assert invoke("simulate", *OPTIONS, "--plot", plain).exit_code == 0
    assert invoke("simulate", *OPTIONS, "--plot", predicted, "--forecast").exit_code == 0
    assert predicted.stat().st_size > plain.stat().st_size
    assert "stroke-dasharray" in predicted.read_text()
    assert "stroke-dasharray" not in plain.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "got no figure; add --plot"),
        (["--plot", "--mask", "full"], "needs the causal mask"),
        (["--plot", "--schedule", "0:4,1:9"], "leave out --schedule and --frozen"),
        (["--plot", "--times", "final"], "leave out --times"),
        (["--plot", "--times", "10"], "leave out --times"),
    ],
)
def test_simulate_refuses_before_it_runs(here, arguments, message):
    result = invoke("simulate", "--n", 5, "--d", 2, *arguments, "--forecast")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(here.iterdir())


def test_the_page_shows_what_is_printed():
    page = (Path(__file__).parents[2] / "docs" / "life.md").read_text(encoding="utf-8")
    shown = page.partition("```text\nForecast")[2].partition("```")[0]
    result = invoke("timeline", "--seed", 1, "--forecast")
    assert result.stdout.endswith(f"Forecast{shown}")


def test_doubts_are_shown(tmp_path):
    model = pk.Attention(2, beta=9.0, Q=[1.0, -0.5])
    run = pk.simulate(model, pk.sphere.uniform(10, 2, seed=1), 5.0)
    run.save(tmp_path / "run.npz")
    result = invoke("timeline", tmp_path / "run.npz", "--forecast")
    assert result.exit_code == 0
    assert "\ndoubtful: KᵀQ differs from a multiple of I by" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    data = json.loads(invoke("timeline", tmp_path / "run.npz", "--forecast", "--json").stdout)
    assert data["forecast"]["tree"]["doubts"][0].startswith("KᵀQ differs")
