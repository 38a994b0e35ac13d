"""Views of pages that are written to files: what they may have, and what is said of the rest."""

from __future__ import annotations

import re

import pytest
from support.commands import invoke

import parkade as pk
from parkade.explorer.settings.view import STEPS, TOGGLES, checked
from parkade.explorer.standalone.export import PAGE


@pytest.mark.parametrize(
    "view",
    [
        "",
        "t=1e13&token=5&color=position",
        "t=0&turn=0.8,0.6,0,0&zoom=1.500&pan=0.1,-0.2&show=",
        "n=200&d=2&V=1,0.5&show=trails,names&beside=forecast&tour=7&talk=1&many=1",
    ],
)
def test_views(view):
    assert checked(view, 5) == checked(f"#{view}", 5) == view


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (
            "zoom=banana",
            "zoom of a view must be a number above 0, got 'banana'; write for example \"zoom=2\"",
        ),
        ("zoom=0", "zoom of a view must be a number above 0, got '0'"),
        ("t=-1", "t of a view must be a time from 0, got '-1'"),
        ("t=nan", "t of a view must be a time from 0, got 'nan'"),
        ("t", "t of a view must be a time from 0, got ''"),
        ("turn=0,0,0,0", "turn of a view must be four numbers"),
        ("turn=1,2", "turn of a view must be four numbers"),
        ("pan=1", "pan of a view must be two numbers"),
        ("color=red", "color of a view must be cluster or position, got 'red'"),
        ("show=trails,tails", "show of a view must be some of trails, renyi"),
        ("token=0", "token of a view must be a token from 1 to 5, got '0'"),
        ("t=1&token=6", "token of a view must be a token from 1 to 5, got '6'"),
        ("token=1.5", "token of a view must be a token"),
        ("beside=beta:16", "beside of a view must be forecast, or a setting and its value"),
        ("tour=8", "tour of a view must be a step from 1 to 7"),
        ("talk=yes", "talk of a view must be 1"),
        ("banana", "view must have parts out of t, turn, zoom"),
        ("ease=1", "got 'ease'; write for example \"t=1e13&token=5\""),
        (3, 'view must be a text like "t=1e13&token=5"'),
    ],
)
def test_wrong_views_are_refused(view, sentence):
    with pytest.raises(pk.InputError, match=re.escape(sentence)):
        checked(view, 5)


def test_python_and_the_command_line_check_views(tmp_path):
    run = pk.simulate(pk.Attention(d=2), pk.sphere.uniform(5, 2, seed=1), 3.0)
    with pytest.raises(pk.InputError, match="zoom of a view"):
        run.show(view="zoom=banana")
    run.save(tmp_path / "run.npz")
    for source in [str(tmp_path / "run.npz")], ["--tour"]:
        command = ["export", *source, "--view", "zoom=banana", "-o", str(tmp_path / "page.html")]
        done = invoke(*command)
        assert done.exit_code != 0
        assert "zoom of a view must be a number above 0, got 'banana'" in done.stderr
        assert not (tmp_path / "page.html").exists()


def test_the_parts_of_a_view_are_those_that_the_page_reads():
    link = (PAGE / "controls" / "link.js").read_text(encoding="utf-8")
    toggles = re.search(r"TOGGLES = \{(.*)\}", link)
    assert toggles is not None
    assert tuple(re.findall(r"(\w+):", toggles[1])) == TOGGLES
    steps = (PAGE / "tour" / "steps.js").read_text(encoding="utf-8")
    assert len(re.findall(r"^\s*title:", steps, re.MULTILINE)) == STEPS
