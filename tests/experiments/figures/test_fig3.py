"""Figure 3 continues an interrupted ensemble."""

import json

from parkade.experiments.reproduce import reproduce


def test_figure_3_goes_on_where_it_stopped(tmp_path):
    (first,) = reproduce("fig3", tmp_path, runs=60)
    assert [path.name for path in first.paths] == ["fig3.png", "fig3.pdf", "fig3.csv"]
    numbers = json.loads((tmp_path / "fig3.json").read_text(encoding="utf-8"))["made"]["numbers"]
    # Five standard errors: fails by chance with a probability of 6e-7.
    value, error = numbers["strong"]["centers"]
    assert abs(value - numbers["strong"]["expected"]) < 5 * error
    rows = [row.split(",") for row in (tmp_path / "fig3.csv").read_text("utf-8").splitlines()]
    weak, strong = (float(row[2]) for row in rows[-2:])
    assert 50 < strong <= weak <= 100
    # An interrupted ensemble has some of its batches; the figure comes out the same.
    table = (tmp_path / "fig3.csv").read_bytes()
    store = tmp_path / "fig3-60-runs-seed-0"
    batches = sorted(store.glob("*.nc"))
    batches[0].unlink()
    written = batches[1].stat().st_mtime_ns
    (tmp_path / "fig3.json").unlink()
    (again,) = reproduce("fig3", tmp_path, runs=60)
    assert not again.reused
    assert batches[0].exists()
    assert batches[1].stat().st_mtime_ns == written
    assert (tmp_path / "fig3.csv").read_bytes() == table
