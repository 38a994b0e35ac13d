"""What an experiment is, and the one way in which all of them run."""

import dataclasses

import pytest
from support.experiments import fake_claim, fake_exhibit

from parkade.experiments.experiment import Setup, by_name
from parkade.experiments.output import Picture


def test_a_setup_chooses_samples_by_whether_it_is_quick(quick):
    assert quick.choose(2, 12) == 2
    assert dataclasses.replace(quick, quick=False).choose(2, 12) == 12


def test_randomness_depends_on_the_seed_and_on_the_stream_alone(quick):
    first = quick.generator(3, 4).random()
    assert quick.generator(3, 4).random() == first
    assert quick.generator(4, 3).random() != first
    assert dataclasses.replace(quick, seed=1).generator(3, 4).random() != first


def test_parts_report_their_part_of_the_progress():
    seen = []
    setup = Setup(True, 0, seen.append)
    for i in range(2):
        for fraction in (0.5, 1.0):
            setup.part(i, 2).report(fraction)
    assert seen == [0.25, 0.5, 0.75, 1.0]
    nested = setup.part(1, 2).part(0, 2)
    nested.report(1.0)
    assert seen[-1] == 0.75
    assert list(setup.part(1, 2).each("ab")) == ["a", "b"]
    assert seen[-2:] == [0.75, 1.0]


def test_without_a_folder_nothing_is_written(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = fake_exhibit("one").perform(quick)
    assert outcome.finding.numbers["x"] > 0
    assert outcome.seconds > 0
    assert outcome.paths == []
    assert list(tmp_path.iterdir()) == []


def test_with_a_folder_pictures_tables_and_texts_are_written(quick, tmp_path):
    exhibit = fake_exhibit("one")
    outcome = exhibit.perform(dataclasses.replace(quick, folder=tmp_path))
    assert outcome.experiment is exhibit
    assert outcome.pictures == (Picture(tmp_path / "one.png", "The caption of one."),)
    names = ["one.png", "one.pdf", "one.csv", "one.txt"]
    assert [path.name for path in outcome.paths] == names
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    assert (tmp_path / "one.txt").read_text(encoding="utf-8") == "β\n"


def test_files_that_an_experiment_wrote_itself_are_among_its_files(quick, tmp_path):
    own = Picture(tmp_path / "part.png", "a part")
    exhibit = fake_exhibit("one")

    def measure(setup):
        finding = exhibit.measure(setup)
        return dataclasses.replace(finding, pictures=[own], files=[tmp_path / "part.json"])

    whole = dataclasses.replace(exhibit, measure=measure, draw=None)
    outcome = whole.perform(dataclasses.replace(quick, folder=tmp_path))
    names = ["part.png", "part.pdf", "part.json", "one.csv", "one.txt"]
    assert [path.name for path in outcome.paths] == names


def test_a_claim_and_a_figure_run_in_the_same_way(quick, tmp_path):
    setup = dataclasses.replace(quick, folder=tmp_path)
    claim, exhibit = fake_claim("claim").perform(setup), fake_exhibit("figure").perform(setup)
    assert claim.finding.numbers == exhibit.finding.numbers
    assert [p.suffix for p in claim.paths[:2]] == [p.suffix for p in exhibit.paths[:2]]


def test_a_registry_keeps_the_order_and_refuses_a_second_of_the_same_name():
    assert list(by_name([fake_claim("b"), fake_claim("a")])) == ["b", "a"]
    with pytest.raises(ValueError, match="two experiments have the name 'a'"):
        by_name([fake_claim("a"), fake_claim("a")])
