"""The example of the README."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def section() -> str:
    found = re.search(r"^## Python\n(.*?)^## ", README.read_text(), re.M | re.S)
    assert found is not None
    return found.group(1)


def example() -> str:
    block = re.search(r"^    import tailcut\n(?:(?:    .*)?\n)*", section(), re.M)
    assert block is not None
    return re.sub(r"^    ", "", block.group(), flags=re.M)


def test_the_example_runs(tmp_path: Path):
    code = example()
    assert code.count("tailcut.") >= 3
    script = tmp_path / "example.py"
    script.write_text(code)
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=os.environ, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout.split("\n")[0]) > 10_000 and "bus transfer" in ended.stdout
    assert (tmp_path / "compare.html").exists()


def test_the_install_line_brings_what_the_example_needs():
    extras = re.search(r'^    pip install "\.\[(.*?)\]"$', section(), re.M)
    assert extras is not None
    for library in re.findall(r"\.to_(pandas|polars|arrow)\(\)", re.sub("#.*", "", example())):
        assert library in extras.group(1).split(",")
