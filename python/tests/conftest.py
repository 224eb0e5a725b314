"""What the tests share: small scenarios, and the command to compare with."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import tailcut

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def small() -> dict[str, object]:
    """A drive of 1 GiB for a moment: runs in a tenth of a second."""
    return {
        "device": {"preset": "g-1g"},
        "workload": {"rate": 20_000},
        "run": {"requests": 20_000, "duration": "0s", "ramp": "0s"},
    }


@pytest.fixture
def long(small: dict[str, object]) -> dict[str, object]:
    """The same for minutes."""
    return small | {"run": {"requests": 1_000_000_000, "duration": "0s", "ramp": "0s"}}


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command ``tailcut`` of this version: the file that TAILCUT_COMMAND names, or what the shell finds."""
    found = os.environ.get("TAILCUT_COMMAND") or shutil.which("tailcut")
    if found is None:
        pytest.skip("there is no command 'tailcut' to compare with; name its file in TAILCUT_COMMAND")

    def call(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run([found, *map(str, arguments)], check=check, capture_output=True, text=True)

    version = call("--version").stdout.split()[-1]
    assert version == tailcut.__version__, f"{found} is of version {version}"
    return call
