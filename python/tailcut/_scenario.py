"""Scenarios as Python writes them: files, texts, dictionaries, settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

from . import _tailcut
from ._table import Table

Scenario = str | PathLike[str] | Mapping[str, Any]
"""The path of a TOML file, the TOML itself (a text with a line end or a ``=``), or nested dictionaries."""

# What a setting may say without quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_.%/+-][A-Za-z0-9_.%/+ -]*")


def keys() -> Table:
    """Every key that a scenario can have: its path, kind, default, allowed values and meaning, in words."""
    entries = json.loads(_tailcut.scenario_keys())
    return Table.of(entries, {name: str for name in ("key", "kind", "default", "allowed", "meaning")})


def presets() -> list[str]:
    """The names of the drives that a scenario can start from, with ``device.preset``."""
    return _tailcut.presets()


def asked(
    scenario: Scenario | None,
    settings: Mapping[str, Any] | None,
    trace: str | PathLike[str] | None = None,
    fio: str | PathLike[str] | None = None,
    seed: int | None = None,
    skip_bad_lines: bool = False,
) -> _tailcut.Asked:
    """All of that as the extension takes it."""
    if trace is not None and fio is not None:
        raise _tailcut.ScenarioError("a run has one workload: give it a trace or a fio job file, not both")
    path, text = source(scenario, "scenario")
    return {
        "path": path,
        "text": text,
        "sets": [f"{key}={spelled(value)}" for key, value in flat(settings or {})],
        "trace": trace,
        "fio": fio,
        "seed": seed,
        "skip_bad_lines": skip_bad_lines,
    }


def source(given: Scenario | None, name: str) -> tuple[str | PathLike[str] | None, tuple[str, str] | None]:
    """A path, or a text with a name for messages."""
    if given is None:
        return None, None
    if isinstance(given, Mapping):
        return None, (f"<{name}>", to_toml(given))
    if isinstance(given, os.PathLike):
        return given, None
    if isinstance(given, str):
        is_text = "\n" in given or "=" in given or not given.strip()
        return (None, (f"<{name}>", given)) if is_text and not os.path.exists(given) else (given, None)
    raise TypeError(f"a {name} is a path, a text of TOML or a dictionary, not {type(given).__name__}")


def flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested dictionaries as keys with dots, which may be mixed."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def spelled(value: Any) -> str:
    """A value as ``--set`` takes it: a text needs no quotes where it is plain."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return _toml_value(value)


def to_toml(section: Mapping[str, Any]) -> str:
    """Nested dictionaries as TOML, one line for each value, in their order but for sections, which come
    last."""
    return "".join(_section(section, ""))


def _section(section: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in section.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_toml_value(value)}\n"
    for key, value in section.items():
        if isinstance(value, Mapping):
            below = f"{path}.{_key(key)}" if path else _key(key)
            yield f"\n[{below}]\n"
            yield from _section(value, below)


def _key(key: object) -> str:
    # A key with dots is a path, as in `--set`.
    parts = str(key).split(".")
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part) for part in parts)


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(_toml_value(one) for one in value)}]"
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if hasattr(value, "item"):
        # A number of NumPy.
        return _toml_value(value.item())
    raise TypeError(
        f"a scenario holds texts, numbers, true and false, and lists of them, not {type(value).__name__}"
    )
