"""Results of experiments as JSON: a list of claims, or a record for each exhibit.

A record says with which settings an exhibit was made and holds a checksum of each of its
files, so that a later call can tell whether it has to be made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import parkade
from parkade.base.files import checksum, from_json, to_json
from parkade.experiments.claim import Claim, Evidence
from parkade.experiments.exhibit import Exhibit
from parkade.experiments.experiment import Finding, Outcome, Setup
from parkade.experiments.output import Picture, write

Record: TypeAlias = dict[str, Any]


def claims_json(outcomes: Iterable[Outcome[Claim, Evidence]]) -> str:
    """Claims with their evidence as one JSON object: everything but the arrays."""
    claims = [
        {
            **_statement(outcome.experiment),
            "measured": outcome.finding.measured,
            "verdict": outcome.finding.verdict,
            "false_alarm": outcome.finding.false_alarm,
            "seconds": outcome.seconds,
            "numbers": dict(outcome.finding.numbers),
            "figures": [str(path) for picture in outcome.pictures for path in picture.paths],
        }
        for outcome in outcomes
    ]
    return json.dumps({"claims": claims}, indent=1, allow_nan=False)


def list_json(claims: Iterable[Claim]) -> str:
    """Claims without evidence as one JSON object."""
    return json.dumps({"claims": [_statement(claim) for claim in claims]}, indent=1)


def _statement(claim: Claim) -> Record:
    return {
        "claim": claim.name,
        "title": claim.title,
        "paper": claim.paper,
        "status": claim.status,
        "prediction": claim.prediction,
    }


def settings_of(setup: Setup) -> Record:
    """Everything that decides what the files of an exhibit contain."""
    return {
        "seed": setup.seed, "quick": setup.quick, "runs": setup.runs,
        "parkade": parkade.__version__, "code": _fingerprint(),
    }  # fmt: skip


def write_record(outcome: Outcome[Exhibit, Finding], settings: Record, folder: Path) -> Record:
    """Write the record of an exhibit that was made with these settings, beside its files."""
    exhibit, finding = outcome.experiment, outcome.finding
    record = {
        "name": exhibit.name,
        "title": exhibit.title,
        "paper": exhibit.paper,
        "statement": exhibit.statement,
        "settings": settings,
        "command": _command(exhibit.name, settings),
        "seconds": outcome.seconds,
        "made": {
            "parameters": finding.parameters,
            "measured": finding.measured,
            "tables": [table.rows for table in finding.tables],
            "numbers": finding.numbers,
            # Paths as the page sees them.
            "pictures": [
                {"path": picture.path.relative_to(folder).as_posix(), "caption": picture.caption}
                for picture in outcome.pictures
            ],
            "files": [file.relative_to(folder).as_posix() for file in outcome.files],
        },
        "checksums": [checksum(path.read_bytes()) for path in outcome.paths],
    }
    write(folder / f"{exhibit.name}.json", to_json(record, indent=1))
    return record


def find_record(folder: Path, name: str) -> Record | None:
    """The record of an exhibit; None if it or one of its files is missing or has changed."""
    try:
        record = from_json((folder / f"{name}.json").read_bytes())
        checksums = [checksum(path.read_bytes()) for path in record_paths(folder, record)]
    except (OSError, ValueError, RecursionError):
        return None
    return record if checksums == record["checksums"] else None


def record_paths(folder: Path, record: Record) -> list[Path]:
    """The files of an exhibit: those of its pictures first."""
    pictures = [Picture(folder / p["path"], p["caption"]) for p in record["made"]["pictures"]]
    files = [folder / file for file in record["made"]["files"]]
    return [*(path for picture in pictures for path in picture.paths), *files]


def _command(name: str, settings: Record) -> str:
    options = [f"--seed {settings['seed']}"] if settings["seed"] else []
    options += ["--quick"] if settings["quick"] else []
    options += [f"--runs {settings['runs']}"] if settings["runs"] else []
    return " ".join(["parkade reproduce", name, *options])


@cache
def _fingerprint() -> str:
    """A digest of parkade's sources: other code may make other figures."""
    digest = hashlib.sha256()
    for source in sorted(Path(parkade.__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
