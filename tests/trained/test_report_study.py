"""The survey, ablations and iterations of a real model, and the report made of them."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import parkade as pk
from parkade.experiments.trained import compare, sentences, summary, tables
from parkade.experiments.trained.report import write_report
from parkade.experiments.trained.results import Material, study
from parkade.trained.study import ABLATIONS, ablate, iterations, survey
from parkade.trained.texts import kind_for, texts

pytestmark = pytest.mark.usefixtures("plain_pictures")


@pytest.fixture(scope="module")
def results(albert):
    """A small study: three reactions."""
    done = []
    material = Material(texts("reactions")[:3])
    result = study(albert, material, ablations=["no-mlp"], times=40, report=done.append)
    assert done == sorted(done)
    assert done[-1] == 1
    return result


def test_texts_ship_with_the_package():
    assert len(texts()) == 12
    assert all(130 < len(text.split()) < 180 for text in texts())
    assert len(set(texts("reactions"))) == 16
    assert all(text.count(">>") == 1 for text in texts("reactions"))
    assert (kind_for(591), kind_for(32000)) == ("reactions", "prose")


def test_reactions_keep_their_atoms(albert):
    """What a product has must come from somewhere: letters outside of brackets, about."""
    for text in texts("reactions"):
        before, after = (re.sub(r"[^A-Za-z]", "", side).upper() for side in text.split(">>"))
        assert after.count("N") <= before.count("N")
        assert after.count("S") <= before.count("S")
        assert "[UNK]" not in albert.read(text).words


def test_a_survey_measures_what_the_measures_say(albert, results):
    reads = [albert.read(text).hidden.astype(float) for text in texts("reactions")[:3]]
    means = [[pk.trained.measures.mean_cosine(x / np.linalg.norm(x, axis=1, keepdims=True))
              for x in read] for read in reads]  # fmt: skip
    assert results.survey.curves["mean cosine"].values == pytest.approx(np.array(means), abs=1e-6)
    assert results.survey.texts == 3
    assert results.survey.losses is None  # an encoder
    first = albert.attention_at(3, albert.read(texts("reactions")[0]).hidden[3])
    expected = first[:, 1:, 0].mean()
    assert results.survey.attention.values[0, 3] == pytest.approx(expected, rel=1e-5)


def test_the_trained_mlp_keeps_tokens_apart(results):
    one = results.ablations["no-mlp"]
    assert (one.values[:, -1] > one.nulls["trained"][:, -1] + 0.3).all()


def test_every_ablation_works(albert):
    changed = ablate(albert, texts("reactions")[12:14], list(ABLATIONS))
    assert set(changed) == set(ABLATIONS)
    assert all(np.isfinite(one.values).all() for one in changed.values())
    with pytest.raises(pk.InputError, match="the ablation must be one of 'no-mlp'"):
        ablate(albert, texts("reactions")[:2], ["no-norm"])


def test_iterations_start_where_the_text_enters(albert):
    (one,) = iterations(albert, texts("reactions")[:1], 12)
    assert one.layer == 0
    path = albert.iterate(albert.read(texts("reactions")[0]).hidden[0], 0, 12)
    assert one.close.tolist() == [pk.trained.measures.cluster_count(x) for x in path.tokens]
    assert one.ending.counts[0] == one.tokens == path.n


def test_tied_layers_count_once(results):
    assert results.heads.sizes["layer"] == 1
    assert tables.heads_dict(results.heads)["count"] == 8
    shares = tables.kinds(results.heads)
    assert sum(a for a, _ in shares.values()) == pytest.approx(1)
    assert sum(b for _, b in shares.values()) == pytest.approx(1)


def test_a_report_is_one_page_that_needs_nothing(results, tmp_path):
    written = write_report(results, tmp_path / "new", "a <folder>")
    names = {path.name for path in written}
    assert {"report.html", "report.json", "explorer.html", "heads.png", "heads.pdf"} <= names
    assert all(path.stat().st_size for path in written)
    page = (tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    for word in ("isotropic", "pooled", "reversed", "permuted", "3 texts", "random (999)"):
        assert word in page
    for sentence in sentences.learned(results):
        assert html.escape(sentence) in page.partition("<h2>")[0]
    for text in texts("reactions")[:3]:
        assert html.escape(text) in page
    assert "Read from <code>a &lt;folder&gt;</code>" in page
    assert "≤ 2^-2" in page
    assert "at least 2^-2, the smallest possible with 3 texts" in page
    explorer = (tmp_path / "new" / "explorer.html").read_text(encoding="utf-8")
    assert json.dumps(results.survey.words[0][:10])[1:-1] in explorer
    data = json.loads((tmp_path / "new" / "report.json").read_text(encoding="utf-8"))
    assert data["survey"]["texts"] == 3
    assert data == json.loads(json.dumps(results.to_dict()))
    assert all(one["texts"] == 3 for one in data["survey"]["curves"].values())
    assert all(one["nulls"] for one in data["survey"]["curves"].values())
    table = summary.main(tmp_path).read_text(encoding="utf-8").splitlines()
    assert table[0] == "| | ALBERT-rxn |"
    assert "| heads | 8 |" in table
    ends = (
        results.ablations["no-mlp"].mean[-1],
        results.ablations["no-mlp"].null_mean("trained")[-1],
    )
    assert f"| cosine at the end without MLPs (trained) | {ends[0]:.2f} ({ends[1]:.2f}) |" in table


def test_one_text_alone_cannot_be_centred(albert):
    with pytest.raises(pk.InputError, match="at least two texts, got 1"):
        survey(albert, texts("reactions")[:1])


def test_three_sentences_say_what_was_learned(albert, results):
    heads, tokens, first = sentences.learned(results)
    far = int((results.heads["balance_holm"].values < 0.05).sum())
    assert heads.startswith(f"{far} of 8 heads attract or repel")
    one = results.survey.curves["mean cosine, centred"]
    assert f"from {one.mean[0]:.2f} to {one.mean[-1]:.2f}" in tokens
    assert first.startswith("The first token gets up to 0.")  # an encoder has no earlier tokens
    causal = replace(albert, shape=replace(albert.shape, causal=True))
    third = sentences.learned(replace(results, model=causal))[2]
    gap = np.mean(results.survey.pulled.values - results.survey.pulled.nulls["later"])
    assert f"{abs(gap):.3f} {'more' if gap > 0 else 'less'}" in third


def test_a_probability_at_its_floor_says_so():
    cells = [tables.probability(p, texts) for p, texts in
             [(2.0**-11, 12), (0.01, 12), (2.0**-16, 20), (1.0, 1)]]  # fmt: skip
    assert cells == ["≤ 2^-11", "0.01", "≤ 2^-16", "–"]


def test_the_texts_of_others_serve_for_centring_only(albert):
    mine, *ours = texts("reactions")[:4]
    alone = survey(albert, [mine], ours)
    whole = survey(albert, [mine, *ours])
    assert alone.texts == 1
    for name, one in whole.curves.items():
        assert alone.curves[name].values[0] == pytest.approx(one.values[0], abs=1e-9)
    assert alone.notes[0].startswith(
        "3 other texts that ship with parkade served for centring only"
    )
    assert "that ship" not in survey(albert, [mine], ["CCO.CC>>CCOCC"]).notes[0]
    changed = ablate(albert, [mine], ["no-mlp"], ours)["no-mlp"]
    both = ablate(albert, [mine, *ours], ["no-mlp"])["no-mlp"]
    assert changed.values[0] == pytest.approx(both.values[0], abs=1e-9)


def test_what_the_model_cannot_read_is_named(albert):
    short = replace(albert, shape=replace(albert.shape, longest=20))
    notes = survey(short, texts("reactions")[:2]).notes[:2]
    counts = [len(albert.encode(text)) for text in texts("reactions")[:2]]
    assert notes == tuple(
        f"text {i + 1} has {n} tokens, and ALBERT-rxn reads at most 20: the last {n - 20} were "
        "left out" for i, n in enumerate(counts)
    )  # fmt: skip


def test_a_comparison_is_one_page_with_one_table(results, tmp_path):
    one = {**results.to_dict(), "source": "here"}
    other = json.loads(json.dumps(one))
    other["model"]["name"], other["read"] = "other", ["another text"]
    other["survey"]["curves"]["mean cosine, centred"]["mean"][-1] += 0.5
    compare.write_comparison({"ALBERT-rxn": one, "o": other}, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<table>") == 1
    assert "<th>ALBERT-rxn</th><th>other</th>" in page
    assert '<a href="o/report.html">other</a>, read from <code>here</code>' in page
    assert "have not read the same texts" in page
    assert "(random directions: 0) is largest in other, " in page
    assert "in the layer where it is largest, is " in compare.extremes([one, one])[2]
    assert compare.extremes([one, one])[2].endswith(" in all.")
    assert compare.different_texts([one, one]) == []
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [report["model"]["name"] for report in data["reports"]] == ["ALBERT-rxn", "other"]
