"""Merge trees as data and as text."""

import dataclasses
import itertools
import json
import math
import re

import numpy as np
import pytest

import parkade as pk
from parkade.theory.merge_tree import Merge, MergeTree


@pytest.fixture(scope="module")
def tree():
    x0 = pk.sphere.uniform(60, 2, seed=0)
    return pk.simulate(pk.Attention(d=2, beta=25.0), x0, 1e30, method="implicit").merge_tree()


def test_json_holds_everything_and_no_infinity(tree):
    text = tree.to_json()
    assert not re.search(r"Infinity|NaN", text)
    data = json.loads(text)
    back = MergeTree(
        **{
            **{f.name: data[f.name] for f in dataclasses.fields(MergeTree)},
            "events": tuple(Merge(**e) for e in data["events"]),
            "trusted_until": math.inf if data["trusted_until"] is None else data["trusted_until"],
        }
    )
    assert back.events == tree.events
    assert back.plateaus == tree.plateaus
    assert data["arrivals"][0] is None
    assert data["plateaus"][-1]["open"] is True
    assert data["plateaus"][0]["lifetime"] == tree.plateaus[0].lifetime


def parse_newick(text):
    """A tree as (name, length, children) from a Newick string, names unquoted."""
    tokens = re.findall(r"[(),;]|:[^(),;]+|[^(),:;]+", text)
    assert tokens.pop() == ";"
    stack, siblings = [], []
    node = None
    for token in tokens:
        if token == "(":
            stack.append(siblings)
            siblings, node = [], None
        elif token == ")":
            siblings.append(node)
            node, siblings = ["", None, siblings], stack.pop()
        elif token == ",":
            siblings.append(node)
            node = None
        elif token[0] == ":":
            node[1] = float(token[1:])
        else:
            node = [token, None, []]
    assert not stack
    assert not siblings
    return node


def leaves(node, depth=0.0):
    """Names of leaves and their distances from the root's top."""
    depth += node[1] or 0.0
    if not node[2]:
        return {node[0]: depth}
    return dict(itertools.chain.from_iterable(leaves(c, depth).items() for c in node[2]))


def test_newick_of_all_tokens_and_of_a_plateau(tree):
    first = min(e.time for e in tree.events if e.time > 0)
    depths = leaves(parse_newick(tree.to_newick()))
    assert sorted(map(int, depths)) == list(range(tree.n))
    # All leaves begin at the same time, the root ends at the end of the run.
    np.testing.assert_allclose(list(depths.values()), 30 - math.log10(first), rtol=1e-6)
    plateau = tree.plateaus[0]
    depths = leaves(parse_newick(tree.to_newick(plateau=0)))
    assert sorted(map(int, depths)) == list(plateau.leaders)
    np.testing.assert_allclose(list(depths.values()), 30 - math.log10(plateau.start), rtol=1e-6)


def test_newick_joins_the_merged_and_roots_the_rest():
    events = (Merge(10.0, 3, 2, 1), Merge(1e4, 1, 0, 1))
    text = MergeTree(4, 0.0, 1e6, 0.1, 2.0, events).to_newick()
    assert text == "((0:3,1:3):2,(2:0,3:0):5);"
    assert len(parse_newick(text)[2]) == 2
    assert MergeTree(1, 0.0, 1e3, 0.1, 2.0, ()).to_newick() == "0:3;"


def test_text_fits_the_terminal(tree):
    assert max(map(len, tree.to_text(80).splitlines())) <= 80
    assert max(map(len, tree.to_text(40).splitlines()[1:3])) <= 40
    assert tree.table()[-1]["clusters"] == "1"
    assert tree.table()[-1]["end"] == "end of run"
    assert [row["left"] for row in tree.merge_table()][-1] == "1"
    doubtful = dataclasses.replace(tree, trusted_until=1e14)
    assert "rounding errors dominate" in doubtful.to_text()
    assert json.loads(doubtful.to_json())["trusted_until"] == 1e14
    assert f"{tree.n} tokens" in repr(tree)
