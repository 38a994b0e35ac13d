"""Every claim of the paper is there, those of others, and ours."""

from typing import get_args

from parkade.experiments.claim import Status
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS, TRAINED
from parkade.experiments.papers import PAPERS, heading


def test_every_claim_of_the_paper_is_there():
    assert len(CLAIMS) >= 14
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert claim.status in get_args(Status)
        assert claim.title
        assert claim.prediction
        assert len(claim.prediction) < 80


def test_claims_are_grouped_by_paper():
    assert CAUSAL_CLUSTERING == "2411.04990"
    papers = [claim.paper for claim in CLAIMS.values()]
    groups = list(dict.fromkeys(papers))
    assert papers == sorted(papers, key=groups.index)
    assert (groups[0], groups[-1]) == (CAUSAL_CLUSTERING, OURS)
    assert papers.count(CAUSAL_CLUSTERING) == 17
    ours = {"forecast", "plateau-lifetime", "drift", "coarsening", "last-merge"}
    assert ours <= {name for name, claim in CLAIMS.items() if claim.paper == OURS}


def test_every_paper_has_authors_and_a_title():
    for claim in CLAIMS.values():
        assert claim.paper in (OURS, TRAINED) or claim.paper in PAPERS
    assert heading("2606.05140").startswith("Mun and Rosenzweig 2026, arXiv 2606.05140: Phase")


def test_tables_say_which_claims_are_ours():
    assert CLAIMS["lemma-5.1"].origin == "lemma"
    assert CLAIMS["drift"].origin == "ours: derived"
