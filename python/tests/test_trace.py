"""Traces: files, and data frames in their place."""

import json
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import tailcut

LINES = "".join(f"{n * 100_000} 0 {n * 8} 8 {n % 2}\n" for n in range(200))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "trace.mqsim"
    file.write_text(LINES)
    return file


def test_a_trace_is_what_the_command_says(file, command):
    trace = tailcut.trace(file, progress=False)
    assert trace.info == json.loads(command("trace", "info", file, "--json").stdout)
    assert trace.info["requests"] == 200 and "200 requests" in repr(trace)
    assert "<td>read</td>" in trace._repr_html_()


def test_requests_of_a_trace_are_columns(file):
    requests = tailcut.trace(file, progress=False).requests
    assert requests["due_ns"] == [n * 100_000 for n in range(200)]
    assert requests["offset"] == [n * 4096 for n in range(200)]
    assert set(requests["bytes"]) == {4096} and requests["op"].count("read") == 100
    assert requests.columns == ["due_ns", "disk", "op", "fua", "offset", "bytes"], (
        "no response times, no column"
    )
    assert len(tailcut.trace(file, progress=False).head(10)) == 10


def test_response_times_are_where_the_trace_has_them(tmp_path: Path):
    file = tmp_path / "msr.csv"
    file.write_text(
        "128166372003061629,hm,0,Read,4096,4096,1500\n128166372013061629,hm,0,Write,8192,4096,300\n"
    )
    requests = tailcut.trace(file, progress=False).requests
    assert requests["response_ns"] == [150_000, 30_000]
    assert requests["due_ns"] == [0, 1_000_000_000]


def test_bad_lines_are_named(tmp_path: Path):
    file = tmp_path / "trace.mqsim"
    file.write_text(LINES + "what is this\n")
    with pytest.raises(tailcut.ScenarioError, match=r"trace\.mqsim, line 201"):
        tailcut.trace(file, progress=False)
    assert tailcut.trace(file, skip_bad_lines=True, progress=False).info["bad_lines"] == 1
    with pytest.raises(tailcut.ScenarioError, match=r"trace\.mqsim, line 201"):
        tailcut.run(trace=file, progress=False)


def test_a_trace_is_run(file):
    trace = tailcut.trace(file, progress=False)
    assert tailcut.run(trace=trace, progress=False).digest == tailcut.run(trace=file, progress=False).digest


def frames(rows: dict[str, list]) -> list[object]:
    return [pyarrow.table(rows), pandas.DataFrame(rows), polars.DataFrame(rows)]


def test_a_data_frame_is_run_as_a_trace(file):
    want = tailcut.run(trace=file, progress=False)
    requests = tailcut.trace(file, progress=False).requests
    shuffled = requests.to_polars().sample(fraction=1.0, shuffle=True, seed=1)
    for frame in [requests, requests.to_arrow(), requests.to_pandas(), requests.to_polars(), shuffled]:
        assert tailcut.run(trace=frame, progress=False).digest == want.digest, type(frame)
    rows = {
        "due_ns": [n * 100_000 for n in range(200)],
        "op": [["write", "read"][n % 2] for n in range(200)],
        "sector": [n * 8 for n in range(200)],
        "sectors": [8] * 200,
    }
    for frame in frames(rows):
        assert tailcut.run(trace=frame, progress=False).digest == want.digest, type(frame)


def test_requests_of_a_run_are_a_trace(small):
    first = tailcut.run(small, set={"run.requests": 3000}, requests=True, progress=False)
    drive = {"device.preset": "g-1g"}
    again = tailcut.run(set=drive, trace=first.requests, requests=True, progress=False)
    assert again.report["completed"] == 3000
    sent = sorted(zip(first.requests["due_ns"], first.requests["sector"], first.requests["op"], strict=True))
    start = sent[0][0]
    replayed = sorted(
        zip(again.requests["due_ns"], again.requests["sector"], again.requests["op"], strict=True)
    )
    assert [(due - start, sector, op) for due, sector, op in sent] == replayed
    assert tailcut.run(again.scenario, progress=False).digest == again.digest, (
        "its trace is there as long as it is"
    )


def test_data_frames_that_are_no_trace_are_refused_by_name():
    good = {"due_ns": [0, 5], "op": ["read", "flush"], "sector": [0, 0], "sectors": [8, 0]}
    for frame in frames(good):
        assert tailcut.run(trace=frame, progress=False).report["completed"] == 2

    def refused(change: dict[str, object], message: str) -> None:
        rows = {name: values for name, values in (good | change).items() if values is not None}
        for frame in frames(rows):
            with pytest.raises(tailcut.ScenarioError, match=message):
                tailcut.run(trace=frame, progress=False)

    refused({"op": None}, "no column 'op'; its columns are due_ns, sector, sectors")
    refused({"sectors": None}, "no column 'sector' and 'sectors', or 'offset' and 'bytes'")
    refused({"op": ["read", "erase"]}, "row 1 of the column 'op' is none of read, write, trim, flush")
    refused({"due_ns": [0, -5]}, r"row 1 of the column 'due_ns' \(Int64\) is no whole number from 0 on")
    refused({"due_ns": ["0", "5"]}, "row 0 of the column 'due_ns'")
    refused({"sectors": [0, 0]}, "row 0 asks for 0 bytes")
    refused({"sectors": [1 << 40, 0]}, "less than 4 GiB")
    nameless = polars.DataFrame(good | {"op": polars.Series([None, None], dtype=polars.Categorical)})
    with pytest.raises(tailcut.ScenarioError, match="row 0 of the column 'op'"):
        tailcut.run(trace=nameless, progress=False)
    with pytest.raises(tailcut.ScenarioError, match="the table has no requests"):
        tailcut.run(trace=pyarrow.table(good).slice(0, 0), progress=False)
