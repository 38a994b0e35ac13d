"""The verdicts on all claims, among the figures."""

from support.experiments import fake_claim, replace_all

from parkade.experiments.claims.causal import strong_count
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.figures import verdicts
from parkade.experiments.reproduce import reproduce


def test_the_verdicts_lie_in_a_directory_of_their_own(tmp_path, monkeypatch):
    # One claim stands for all: each has its own test.
    replace_all(monkeypatch, CLAIMS, [CLAIMS["lemma-c.1"]])
    monkeypatch.setattr(strong_count, "NUMBERS", (5, 20))
    (made,) = reproduce("verify", tmp_path, quick=True)
    names = ["lemma-c.1.pdf", "lemma-c.1.png", "verdicts.json"]
    assert sorted(path.name for path in made.paths) == names
    assert sorted(path.name for path in (tmp_path / "verify").iterdir()) == names
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<td>lemma-c.1</td><td>lemma</td>" in page


def test_verdicts_are_counted(quick, monkeypatch):
    replace_all(monkeypatch, CLAIMS, [fake_claim("a"), fake_claim("b", "contradicts")])
    finding = verdicts.FINDINGS.measure(quick)
    assert finding.measured.startswith("1 agrees, 1 contradicts.")
    assert "2e-06" in finding.measured
    assert finding.numbers == {"a": "agrees", "b": "contradicts"}
    assert finding.files == []
