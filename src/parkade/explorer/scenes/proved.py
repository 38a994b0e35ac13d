"""What is proved of a run, for the time line of its scene."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from parkade.base.check import brief
from parkade.base.errors import InputError
from parkade.model.attention import Attention
from parkade.proof.certificate import Certificate, checked, read
from parkade.runs.path import Path


def certificate_of(run: Path, source: Certificate | str | os.PathLike[str]) -> Certificate:
    """A certificate about the tokens of a run; one in a file is checked step by step."""
    if isinstance(source, Certificate):
        certificate, data = source, source.data
    elif isinstance(source, (str, os.PathLike)):
        certificate, data = None, read(source)
    else:
        raise InputError(
            f"certificate must be the result of certify, or a file with one, got {brief(source)}"
        )
    tokens = np.array([[float.fromhex(c) for c in row] for row in data["tokens"]])
    beta, d = float.fromhex(data["beta"]), tokens.shape[1]
    if run.model != Attention(d, beta):
        raise InputError(
            f"the certificate is about Attention({d}, beta={beta:g}), not about the model of this "
            "run; certify the tokens of the run with its β"
        )
    if run.times[0] != 0 or not np.array_equal(run.tokens[0], tokens):
        raise InputError(
            f"the certificate is about {len(tokens)} other tokens than those at the start of this "
            "run; certify the start of the run"
        )
    return checked(data) if certificate is None else certificate


def proved(certificate: Certificate) -> dict[str, Any]:
    """The plateaus and the events that are proved, until when, and why not longer."""
    return {
        "plateaus": [
            {"start": one.start, "end": one.end, "clusters": one.clusters}
            for one in certificate.plateaus
        ],
        "events": [
            {
                "start": min(merge.earliest for merge in event),
                "end": max(merge.latest for merge in event),
                "merges": [{"absorbed": one.absorbed, "into": one.into} for one in event],
            }
            for event in certificate.events
        ],
        "until": certificate.until,
        "why": certificate.why,
    }
