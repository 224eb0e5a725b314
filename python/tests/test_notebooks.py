"""The notebooks, run from top to bottom as scripts, each in an interpreter and a folder of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tailcut

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def code(notebook: Path) -> str:
    cells = json.loads(notebook.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def outputs(notebook: Path) -> list[dict]:
    cells = json.loads(notebook.read_text())["cells"]
    return [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def printed(notebook: Path) -> str:
    """What its cells print, without the values of their last lines."""
    return "".join("".join(one["text"]) for one in outputs(notebook) if one["output_type"] == "stream")


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs_as_a_script(notebook: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")
    script = tmp_path / f"{notebook.stem}.py"
    script.write_text(code(notebook))
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "error::RuntimeWarning"}
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == printed(notebook), "it prints something else now: run notebooks/record"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_holds_its_output(notebook: Path):
    kinds = [output["output_type"] for output in outputs(notebook)]
    assert "error" not in kinds
    assert all(output.get("name", "stdout") == "stdout" for output in outputs(notebook)), "no bars, no warnings"
    pictures = [output for output in outputs(notebook) if "image/png" in output.get("data", {})]
    assert pictures, "a reader without Python sees no chart: run notebooks/record"
    for cell in json.loads(notebook.read_text())["cells"]:
        assert cell["cell_type"] == "markdown" or cell["execution_count"] is not None


def test_the_study_of_the_third_notebook_has_figures_of_a_paper():
    name = re.search(r'tailcut\.study\("(.*?)"', code(NOTEBOOKS[2]))
    assert name is not None
    rows = tailcut.study(name.group(1), quick=True).rows.rows()
    assert any(row["paper"] is not None for row in rows)
