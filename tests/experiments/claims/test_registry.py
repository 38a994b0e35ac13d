"""Every claim of the paper is there, claims of others, and five of ours."""

from itertools import pairwise
from typing import get_args

from parkade.experiments.claim import Status
from parkade.experiments.claims.registry import CLAIMS
from parkade.experiments.experiment import CAUSAL_CLUSTERING, OURS


def test_every_claim_of_the_paper_is_there():
    assert len(CLAIMS) >= 14
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert claim.status in get_args(Status)
        assert claim.title
        assert claim.prediction
        assert len(claim.prediction) < 80


def test_claims_can_be_grouped_by_paper():
    assert CAUSAL_CLUSTERING == "2411.04990"
    papers = [claim.paper for claim in CLAIMS.values()]
    assert papers[:17] == [CAUSAL_CLUSTERING] * 17
    assert papers[-5:] == [OURS] * 5
    others = papers[17:-5]
    assert others
    assert not {CAUSAL_CLUSTERING, OURS} & set(others)
    assert sum(a != b for a, b in pairwise(others)) == len(set(others)) - 1  # one group for each
    ours = ["forecast", "plateau-lifetime", "drift", "coarsening", "last-merge"]
    assert list(CLAIMS)[-5:] == ours


def test_tables_say_which_claims_are_ours():
    assert CLAIMS["lemma-5.1"].origin == "lemma"
    assert CLAIMS["drift"].origin == "ours: derived"
