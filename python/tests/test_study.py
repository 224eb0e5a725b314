"""Studies, and that they are those of the command."""

import json
from pathlib import Path

import pytest

import tailcut


def test_studies_have_names_titles_and_sources():
    studies = tailcut.studies()
    assert len({study.id for study in studies}) == len(studies) > 30
    assert all(study.title and study.source for study in studies)


def test_a_study_is_that_of_the_command(command, tmp_path: Path):
    ours = tailcut.study("sprinkler-1", quick=True, seed=3, progress=False)
    command(
        "study", "run", "sprinkler-1", "--quick", "--seed", 3, "--quiet", "--json", tmp_path / "study.json"
    )
    assert ours.data == json.loads((tmp_path / "study.json").read_text())
    rows = ours.rows
    # Most figures are printed in their papers, and have no other basis.
    # Whether a note explains a failing claim is for the command alone.
    given = [{key: value for key, value in row.items() if key != "remarked"} for row in ours.data["rows"]]
    assert list(rows.rows()) == [{"basis": None, **row} for row in given]
    assert str(rows.to_arrow().schema.field("paper").type) == "double"


def test_a_test_of_a_drive_is_a_study(command, tmp_path: Path):
    ours = tailcut.study("pts-lat", quick=True, progress=False)
    command("pts", "lat", "--quick", "--quiet", "--json", tmp_path / "pts.json")
    theirs = json.loads((tmp_path / "pts.json").read_text())
    assert ours.data["rows"] == theirs["tests"][0]["rows"]
    assert ours.notes[0] == theirs["departure"]
    assert tailcut.study("sprinkler-1", quick=True, progress=False).notes == []
    assert "pts-lat" in {study.id for study in tailcut.studies()}


def test_pages_and_representations(tmp_path: Path):
    study = tailcut.study("sprinkler-1", quick=True, progress=False)
    study.to_html(tmp_path / "study.html")
    assert (tmp_path / "study.html").exists() and (tmp_path / "study.json").exists()
    assert study.id == "sprinkler-1" and "sprinkler-1" in study._repr_html_()


def test_a_study_that_there_is_not_is_refused_with_the_closest():
    with pytest.raises(tailcut.ScenarioError, match=r"did you mean 'swan-1'[\s\S]*tailcut study list"):
        tailcut.study("swan-9")
    with pytest.raises(tailcut.ScenarioError, match="there is no such folder"):
        tailcut.study("swan-8", traces="nowhere")
