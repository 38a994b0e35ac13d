"""The forms in which people have hidden states and attention, as one array for each text.

An array of one text is (layers + 1, n, d). A *tuple* is what Hugging Face makes: one array for each
layer, of a batch. A *list* has one entry for each text, in any of these forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkade.base import check
from parkade.base.errors import InputError
from parkade.trained.reading import Reading
from parkade.trained.states.arrays import as_array, is_array

_BEFORE, _AFTER = "blocks.{}.hook_resid_pre", "blocks.{}.hook_resid_post"
_PATTERN = "blocks.{}.attn.hook_pattern"

FORMS = (
    "pass Hugging Face's outputs or their hidden_states, a (layers + 1, n, d) array, or a list of "
    "these, one for each text"
)


@dataclass
class Texts:
    """States of texts, and what came with them.

    Attributes
    ----------
    states : list of (L+1, n, d) arrays
    attention : list of (L, H, n, n) arrays
        Empty if there is none.
    words : list of lists of str
        Empty if there are none.
    raw : bool
        Whether it is known that the last state is before the final norm.
    """

    states: list[NDArray[Any]] = field(default_factory=list)
    attention: list[NDArray[Any]] = field(default_factory=list)
    words: list[list[str]] = field(default_factory=list)
    raw: bool = False


def texts_of(value: Any) -> Texts:
    """The states of texts in any of the known forms."""
    if isinstance(value, Reading):
        maps = [] if value.attention is None else [value.attention]
        return Texts([value.hidden], maps, [value.words], raw=True)
    if isinstance(value, Mapping) and not hasattr(value, "hidden_states"):
        return _of_mapping(value)
    if _is_cache(value):
        return _of_cache(value)
    if hasattr(value, "hidden_states") or hasattr(value, "decoder_hidden_states"):
        return _of_outputs(value)
    if is_array(value):
        return Texts(_split_array("states", value, 3))
    if isinstance(value, (tuple, list)) and len(value):
        if _is_batch(value, 3):
            return Texts(_split_layers("states", value, 3))
        return _joined([texts_of(one) for one in value])
    raise InputError(f"states must be hidden states of texts, got {check.brief(value)}; {FORMS}")


def attention_of(value: Any) -> list[NDArray[Any]]:
    """The attention of texts in any of the known forms, (L, H, n, n) each."""
    if getattr(value, "attentions", None) is not None:
        return attention_of(value.attentions)
    if is_array(value):
        return _split_array("attention", value, 4)
    if isinstance(value, (tuple, list)) and len(value):
        if any(one is None for one in value):
            raise InputError(
                "attention has None for a layer; load the model with attn_implementation='eager', "
                "which keeps the weights"
            )
        if _is_batch(value, 4):
            return _split_layers("attention", value, 4)
        return [weights for one in value for weights in attention_of(one)]
    raise InputError(
        f"attention must be the weights of heads, got {check.brief(value)}; pass Hugging Face's "
        "attentions, a (layers, heads, n, n) array, or a list of these, one for each text"
    )


def _is_batch(value: Any, dims: int) -> bool:
    """Whether these are the arrays of layers: a tuple, or arrays without an axis of layers."""
    if not all(map(is_array, value)):
        return False
    return isinstance(value, tuple) or all(one.ndim == dims - 1 for one in value)


def _split_layers(name: str, layers: Any, dims: int) -> list[NDArray[Any]]:
    """The texts of a batch, from one array for each layer."""
    arrays = [as_array(f"{name} of layer {i}", one) for i, one in enumerate(layers)]
    shapes = {one.shape for one in arrays}
    if len(shapes) > 1:
        steps = [one.shape[-2] for one in arrays[1:]]
        hint = "; these may be the steps of generate()" if set(steps) == {1} else ""
        listed = ", ".join(sorted(map(str, shapes)))
        raise InputError(
            f"a tuple of {name} must have arrays of one shape, one for each layer, got {listed}"
            f"{hint}; a list has one entry for each text"
        )
    whole = np.stack(arrays)
    if whole.ndim == dims:
        return [whole]
    if whole.ndim == dims + 1:
        return list(np.moveaxis(whole, 1, 0))
    return _bad_shape(name, arrays[0].shape, dims)


def _split_array(name: str, value: Any, dims: int) -> list[NDArray[Any]]:
    """The one text of an array; one more axis is a batch of one."""
    whole = as_array(name, value)
    if whole.ndim == dims:
        return [whole]
    if whole.ndim == dims + 1 and 1 in whole.shape[:2]:
        return [whole[0] if whole.shape[0] == 1 else whole[:, 0]]
    if whole.ndim == dims + 1:
        raise InputError(
            f"{name} of shape {whole.shape} may be texts by layers or layers by texts; pass "
            f"list({name}) if the first axis counts texts, tuple({name}) if it counts layers"
        )
    return _bad_shape(name, whole.shape, dims)


def _bad_shape(name: str, shape: tuple[int, ...], dims: int) -> list[NDArray[Any]]:
    expected = "(layers + 1, n, d)" if dims == 3 else "(layers, heads, n, n)"
    raise InputError(f"{name} of a text must be a {expected} array, got shape {shape}; {FORMS}")


def _of_outputs(value: Any) -> Texts:
    """The states in outputs of Hugging Face, and their attention."""
    states = getattr(value, "hidden_states", None)
    if states is None and getattr(value, "decoder_hidden_states", None) is not None:
        raise InputError(
            "these outputs have an encoder and a decoder; pass their encoder_hidden_states or "
            "their decoder_hidden_states"
        )
    if states is None:
        raise InputError(
            "these outputs have no hidden states; call the model with output_hidden_states=True"
        )
    texts = texts_of(states)
    maps = getattr(value, "attentions", None)
    if maps is not None and len(maps) and maps[0] is not None:
        texts.attention = attention_of(maps)
    return texts


def _is_cache(value: Any) -> bool:
    """Whether this behaves like a dictionary, as caches of TransformerLens do."""
    return callable(getattr(value, "keys", None)) and not hasattr(value, "hidden_states")


def _of_mapping(value: Mapping[str, Any]) -> Texts:
    if "hidden_states" in value:
        texts = texts_of(value["hidden_states"])
        maps = value.get("attentions")
        return texts if maps is None else Texts(texts.states, attention_of(maps))
    return _of_cache(value)


def _of_cache(value: Any) -> Texts:
    """A cache of TransformerLens: the residual stream, which no final norm has changed."""
    names = set(map(str, value.keys()))
    count = sum(_AFTER.format(i) in names for i in range(len(names)))
    wanted = [_BEFORE.format(0), *(_AFTER.format(i) for i in range(count))]
    if not count or not names.issuperset(wanted):
        some = ", ".join(sorted(names)[:3])
        raise InputError(
            f"a cache must have {_BEFORE.format(0)} and the {_AFTER.format('i')} of every layer, "
            f"got {some or 'nothing'}; run the model with a cache of all names"
        )
    texts = Texts(_split_layers("states", tuple(value[name] for name in wanted), 3), raw=True)
    patterns = [_PATTERN.format(i) for i in range(count)]
    if names.issuperset(patterns):
        texts.attention = _split_layers("attention", tuple(value[n] for n in patterns), 4)
    return texts


def _joined(parts: list[Texts]) -> Texts:
    """Several texts in one; what not all of them have is left out."""
    joined = Texts([x for one in parts for x in one.states], raw=all(one.raw for one in parts))
    if all(one.attention for one in parts):
        joined.attention = [x for one in parts for x in one.attention]
    if all(one.words for one in parts):
        joined.words = [x for one in parts for x in one.words]
    return joined
