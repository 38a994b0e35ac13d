"""What the centres of a run did."""

import numpy as np

import parkade as pk
from parkade.experiments.claims.common import census


def test_a_run_by_hand():
    # The third token is near the second, which is near the first: a Rényi centre, not strong.
    start = np.concatenate(
        [pk.sphere.from_angles([0, 0.4, 0.8, 3.0]), pk.sphere.uniform(196, 2, 1)]
    )
    run = pk.simulate(pk.Attention(d=2, beta=census.BETA), start, 20.0, times=[0.0, 20.0])
    seen = census.look(run, np.random.default_rng(0))
    moved = pk.sphere.distance(run.final, run.tokens[0])
    assert moved[3] in seen.strong
    assert moved[2] in seen.weak
    assert moved[1] not in np.append(seen.strong, seen.weak)
    assert (seen.shares[0] >= seen.shares[1]).all()
