"""Tables: the same memory on both sides, and the same values."""

import gc

import pandas
import polars
import pyarrow
import pytest

import tailcut

NUMBERS = [
    "number",
    "sector",
    "due_ns",
    "completed_ns",
    "latency_ns",
    "cell_ns",
    "chip_erase_ns",
    "source",
    "class",
]


@pytest.fixture(scope="module")
def table():
    """Requests of a run with more than a million of them."""
    settings = {"device.preset": "z-ssd", "workload.rate": 20_000, "workload.read": "100%"}
    settings |= {"run.requests": 1_050_000, "run.duration": "0s", "run.ramp": "0s"}
    return tailcut.run(set=settings, requests=True, progress=False).requests


def address(chunks: pyarrow.ChunkedArray) -> int:
    assert chunks.num_chunks == 1
    array = chunks.chunk(0)
    return array.buffers()[1].address + array.offset * array.type.bit_width // 8


def test_arrow_shares_the_memory(table):
    arrow = table.to_arrow()
    assert arrow.num_rows == len(table) > 1_000_000
    for name in NUMBERS:
        assert address(arrow[name]) == table._address(name), name


def test_pandas_shares_the_memory(table):
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    for name in NUMBERS:
        assert address(pyarrow.chunked_array(frame[name].array._pa_array)) == table._address(name), name
    assert frame["op"].unique().tolist() == ["read"]


def test_polars_shares_the_memory(table):
    frame = table.to_polars()
    for name in NUMBERS:
        array = frame[name].to_arrow()
        assert array.buffers()[1].address + array.offset * array.type.bit_width // 8 == table._address(
            name
        ), name
    assert frame["op"].cast(polars.String).unique().to_list() == ["read"]


def test_memory_outlives_the_table():
    settings = {"device.preset": "g-1g", "run.requests": 5000, "run.duration": "0s", "run.ramp": "0s"}
    run = tailcut.run(set=settings, requests=True, progress=False)
    want = run.requests["latency_ns"]
    arrow = run.requests.to_arrow()
    del run
    gc.collect()
    assert arrow["latency_ns"].to_pylist() == want


def test_values_are_the_same_everywhere(table):
    few = table.to_arrow().slice(0, 100).to_pylist()
    rows = table._rows(0, 100)
    assert [dict(row) for row in rows] == few


def test_nobody_waited_for_what_is_all_zeros(table):
    arrow = table.to_arrow()
    assert pyarrow.compute.sum(arrow["epoch_ns"]).as_py() == 0
    assert table._address("epoch_ns") == table._address("network_ns"), "one row of zeros does for all"


def test_small_tables_have_their_types_without_values():
    table = tailcut.Table.of([], {"case": str, "paper": float, "count": int, "done": bool})
    assert [str(field.type) for field in table.to_arrow().schema] == ["string", "double", "int64", "bool"]
    assert len(table) == 0 and "[0 rows x 4 columns]" in repr(table)
    table = tailcut.Table.of([{"case": "a"}, {"paper": 1.5}], {"case": str, "paper": float})
    assert table.to_polars().to_dicts() == [{"case": "a", "paper": None}, {"case": None, "paper": 1.5}]


def test_tables_of_one_kind_can_be_put_together():
    kinds = {"case": str, "paper": float}
    with_values = tailcut.Table.of([{"case": "a", "paper": 1.0}], kinds).to_arrow()
    assert pyarrow.concat_tables([with_values, tailcut.Table.of([{}], kinds).to_arrow()]).num_rows == 2


def test_a_schema_comes_alone():
    table = tailcut.Table.of([], {"case": str})
    assert pyarrow.schema(table).names == ["case"]


def test_columns_that_are_not_there_are_named(table):
    with pytest.raises(KeyError, match=r"there is no column 'latency'.*latency_ns"):
        table.column("latency")
    with pytest.raises(KeyError, match="no column of numbers"):
        table._address("op")


def test_long_tables_are_shown_in_part(table):
    assert repr(table).count("\n") == 12 and "1050000 rows" in repr(table)
    assert table._repr_html_().count("<tr>") == 12


def test_texts_are_escaped():
    table = tailcut.Table.of([{"a": "<b>&"}], {"a": str})
    assert "&lt;b&gt;&amp;" in table._repr_html_()
