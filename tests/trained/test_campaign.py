"""Every architecture and variant of Hugging Face's library is exact or refused, never different.

These tests need torch and transformers, which parkade does not: pip install torch transformers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from support import campaign
from support import campaign_runs as runs
from support.marks import many

import parkade as pk

pytestmark = [pytest.mark.filterwarnings("ignore")]
IDS = np.random.default_rng(3).integers(4, campaign.VOCABULARY, campaign.TOKENS).tolist()
WITH_ROPE = 5e-6  # Hugging Face's library has cosines and sines in float32
WITHOUT = 1e-12


@pytest.fixture(scope="module", autouse=True)
def libraries():
    """Skip without the libraries that these tests compare with."""
    pytest.importorskip("torch").set_num_threads(1)
    pytest.importorskip("transformers").logging.set_verbosity(50)


def tolerance(folder):
    """The largest difference that rounding explains, in double precision."""
    return WITH_ROPE if "rope_parameters" in runs.settings_of(folder) else WITHOUT


@pytest.mark.parametrize("name", campaign.CASES)
def test_exact_or_refused(tmp_path, name):
    case = campaign.CASES[name]
    runs.save(case, tmp_path)
    if case.refused:
        with pytest.raises(pk.InputError, match=case.refused):
            pk.trained.load(tmp_path)
        return
    reading = pk.trained.load(tmp_path, dtype="float64").read(IDS)
    assert runs.difference(reading, *runs.theirs(case, tmp_path, IDS)) < tolerance(tmp_path)
    single = pk.trained.load(tmp_path).read(IDS)
    assert runs.difference(single, *runs.theirs(case, tmp_path, IDS, "float32")) < 1e-5


OTHERS = """
    is_causal is_decoder use_bidirectional_attention head_dim sliding_window attention_chunk_size
    attention_bias mlp_bias partial_rotary_factor original_max_position_embeddings rope_theta
    query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping tie_word_embeddings
    layer_norm_eps rms_norm_eps position_embedding_type num_key_value_heads embedding_size
    use_sliding_window layer_types max_window_layers no_rope_layers sliding_window_pattern
    rope_local_base_freq no_rope_layer_interval
""".split()  # noqa: SIM905
"""Settings that some architecture has, or that the library asks all of them for."""


def changes(settings):
    """Settings with one of them left out, changed or added."""
    for name in set(OTHERS) - set(settings):
        for other in (True, False, 2, 20.5):
            yield name, settings | {name: other}
    for name, value in settings.items():
        if name in ("model_type", "architectures", "dtype", "transformers_version"):
            continue
        yield name, {k: v for k, v in settings.items() if k != name}
        if isinstance(value, bool):
            yield name, settings | {name: not value}
        elif isinstance(value, float):
            yield name, settings | {name: 2 * value + 0.01}
        elif isinstance(value, int):
            yield name, settings | {name: value + 1}
            yield name, settings | {name: max(1, value // 2)}
        elif value is None:
            for other in (True, 2, 20.5):
                yield name, settings | {name: other}
        elif isinstance(value, dict) and value:
            yield from ((name, settings | {name: inner}) for _, inner in changes(value))
        elif isinstance(value, str):
            yield from ((name, settings | {name: other}) for other in ("relu", "gelu"))
        elif isinstance(value, list):
            yield name, settings | {name: value[::-1]}


KNOWN = [name for name, case in campaign.CASES.items() if not case.refused]


@pytest.mark.parametrize("name", many([name for name in KNOWN if " " not in name], KNOWN))
def test_no_setting_differs_in_silence(tmp_path, name):
    """Whatever setting is changed or left out: both agree, or we refuse it, or they fail."""
    case = campaign.CASES[name]
    runs.save(case, tmp_path)
    # Some changes make scores sharp, which enlarges rounding; those that matter are far larger.
    settings, limit = runs.settings_of(tmp_path), 20 * tolerance(tmp_path)
    compared, different = 0, []
    for changed, other in changes(settings):
        (tmp_path / "config.json").write_text(json.dumps(other))
        try:
            reading = pk.trained.load(tmp_path, dtype="float64").read(IDS)
        except pk.InputError:
            continue
        try:
            expected = runs.theirs(case, tmp_path, IDS)
        except Exception:
            continue  # whatever their library raises
        compared += 1
        if not runs.difference(reading, *expected) < limit:
            different.append((changed, other.get(changed)))
    assert different == []
    assert compared > len(settings) / 2
