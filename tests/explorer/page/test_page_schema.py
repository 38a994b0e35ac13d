"""The controls follow the schema that the server sends: ranges, defaults, labels, new settings."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from parkade.explorer import Settings
from parkade.explorer.settings.schema import schema

LINK = "n=6&d=2&T=5"


@pytest.fixture
def served(opened):
    """Opens a page whose server sends a changed schema: served(change, link).

    Settings that the server does not have are taken out of the requests for runs, and kept.
    """

    def make(change, link=LINK):
        sent = []

        def answer(route):
            data = route.fetch().json()
            change({field["name"]: field for field in data["fields"]}, data["fields"])
            route.fulfill(json=data)

        def strip(route):
            sent.append(json.loads(route.request.post_data))
            known = {name: sent[-1][name] for name in Settings().to_dict() if name in sent[-1]}
            route.continue_(post_data=json.dumps(known))

        return opened(link, routes={"**/api/schema": answer, "**/api/run": strip}), sent

    return make


def slid(reader, name, shares):
    """What the field of a setting says after its slider was moved to each of some places."""
    return reader.page.evaluate(
        """([name, shares]) => shares.map(share => {
          const slider = document.getElementById(`${name}-slider`);
          slider.value = share;
          for (const kind of ['input', 'change']) {
            slider.dispatchEvent(new Event(kind, { bubbles: true }));
          }
          return document.getElementById(name).value;
        })""",
        [name, shares],
    )


def test_every_range_is_that_of_the_schema(opened):
    """Both ends and the middle of each slider, in the order of the schema."""
    # With these, no setting is without effect and hidden.
    reader = opened(f"{LINK}&mask=window&heads=2&mlp=3&encoding=alibi")
    fields = {field["name"]: field for field in schema(Settings)}
    shown = reader.get("[...document.querySelectorAll('.field')].map(f => f.dataset.field)")
    assert shown == list(fields)
    reader.page.route("**/api/run", lambda route: route.abort())
    reader.get("{ window.addEventListener('unhandledrejection', e => e.preventDefault()); }")
    for name, field in fields.items():
        label = reader.page.locator(f"[data-field={name}]").inner_text()
        assert (field["symbol"] or field["label"]) in label
        if field["control"] != "number":
            continue
        low, high, log = field["slider"].values()
        middle = (low * high) ** 0.5 if log else (low + high) / 2
        for value, text in zip([low, high, middle], slid(reader, name, [0, 1, 0.5]), strict=True):
            near = pytest.approx(value, rel=0.1, abs=0.5 if field["whole"] else 0.0)
            assert float(text) == near
    for name, field in fields.items():
        options = field.get("options", [])
        if len(options) > 4:
            assert reader.on(name).inner_text().split("\n") == [words for _, words in options]
            continue
        for value, words in options:
            assert reader.page.locator(f"label[for={name}-{value}]").inner_text() == words
    reader.forgive("net::ERR_FAILED")


def test_a_slider_follows_a_changed_range(served):
    def change(fields, _):
        fields["beta"]["slider"] = {"low": 20, "high": 30, "log": False}
        fields["beta"]["label"] = "inverse temperature"
        fields["V"]["slider"] = {"low": 0, "high": 8, "log": False}

    reader, _ = served(change, f"{LINK}&V=1,1")
    slider = reader.on("beta-slider")
    for share, value in [("0", 20), ("0.5", 25), ("1", 30)]:
        slider.fill(share)
        reader.idle()
        assert reader.settings["beta"] == value == reader.get("parkade.scene.beta")
    assert slider.get_attribute("aria-label") == "β, inverse temperature"
    assert reader.on("V-0-slider").get_attribute("max") == "8"


def test_defaults_follow_the_schema(served):
    """They are sent to the server, and left out of links."""

    def change(fields, _):
        fields["n"]["default"] = 7
        fields["mask"]["default"] = "full"

    reader, sent = served(change, "d=2&T=5")
    assert (reader.settings["n"], reader.settings["mask"]) == (7, "full")
    assert (sent[0]["n"], sent[0]["mask"]) == (7, "full")
    assert reader.link == "d=2&T=5&t=5"
    reader.check("mask-causal")
    assert reader.link == "d=2&T=5&mask=causal&t=5"


def test_sizes_of_matrices_follow_the_schema(served):
    """A value outside the range of the size leaves the matrices alone."""

    def change(fields, _):
        fields["d"]["high"] = 4

    reader, _ = served(change, f"{LINK}&V=1,0.5")
    reader.type("d", 3)
    assert reader.settings["V"] == "1,0.5,0.5"
    reader.type("d", 5)
    assert reader.settings["V"] == "1,0.5,0.5"
    reader.forgive("status of 422")


def test_new_settings_need_no_script(served):
    """A number, a choice with few and one with many options, a seed and a matrix."""
    number = {"low": 0, "high": 1, "whole": False, "slider": None, "derived": None}
    added = [
        {"name": "wind", "control": "number", "default": 0, "symbol": "σ", "label": "wind",
         **number, "slider": {"low": 0, "high": 0.5, "log": False}},
        {"name": "walls", "control": "number", "default": 1, "symbol": "w", "label": "walls",
         **number, "high": 8, "whole": True},
        {"name": "side", "control": "choice", "default": "in", "symbol": "", "label": "side",
         "options": [["in", "inside"], ["out", "outside"]]},
        {"name": "kind", "control": "choice", "default": "none", "symbol": "",
         "label": "kind", "options": [[name, name] for name in ("none", "a", "b", "c", "d")]},
        {"name": "dice", "control": "seed", "default": 5, "symbol": "dice", "label": "of wind",
         "next_label": "Other wind"},
        {"name": "W", "control": "matrix", "default": "I", "symbol": "W", "label": "MLP",
         "size": "d", "slider": {"low": -1, "high": 1, "log": False}},
    ]  # fmt: skip
    reader, sent = served(lambda _, fields: fields.extend(added), f"{LINK}&kind=b&W=1,2")
    assert reader.settings["wind"] == 0
    assert reader.value("kind") == "b"
    assert [reader.value(f"W-{i}") for i in range(2)] == ["1", "2"]
    reader.slide("wind-slider", "0.5")
    reader.type("walls", 4)
    assert reader.page.locator("#walls-slider").count() == 0
    reader.on("side-out").check()
    reader.on("kind").select_option("c")
    reader.click("dice-next")
    expect(reader.page.get_by_role("button", name="Other wind")).to_be_visible()
    wanted = {"wind": 0.25, "walls": 4, "side": "out", "kind": "c", "dice": 6, "W": "1,2"}
    assert {name: sent[-1][name] for name in wanted} == wanted
    link = "n=6&d=2&T=5&wind=0.25&walls=4&side=out&kind=c&dice=6&W=1,2&t=5"
    assert reader.link == link
    reader.click("undo")
    assert (reader.settings["dice"], reader.value("dice")) == (5, "5")


def test_no_schema(opened):
    """Without it there are no controls, and the page says why."""
    reader = opened(LINK)
    reader.page.route("**/api/schema", lambda route: route.abort())
    reader.page.reload()
    expect(reader.on("message")).to_contain_text("The server does not answer")
    assert reader.state == "error"
    reader.forgive("net::ERR_FAILED")
