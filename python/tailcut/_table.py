"""Tables of results, in Arrow's memory layout."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _tailcut

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# Rows that are shown of a long table, half of them from its end.
_SHOWN = 10
# Columns that are shown of a wide one.
_WIDE = 14


class Table:
    """Columns of one length, with names. Immutable.

    It speaks the Arrow PyCapsule interface, so that pandas, polars, pyarrow, DuckDB and others take it as it
    is: columns of numbers are not copied, and stay in memory as long as somebody uses them.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: _tailcut.Columns) -> None:
        self._columns = columns

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, type]) -> Table:
        """A table of ``rows``, with a column of each kind (str, int, float, bool); None where a row has no
        value."""
        rows = list(rows)
        columns = [(name, kind.__name__, [row.get(name) for row in rows]) for name, kind in kinds.items()]
        return cls(_tailcut.Columns.of(columns))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._columns.names()

    def column(self, name: str) -> list[Any]:
        """The values of a column as a list: a copy, for tables that are not large."""
        return self._columns.values(name)

    __getitem__ = column

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries, for tables that are not large."""
        return self._rows(0, len(self))

    def _rows(self, start: int, count: int) -> Iterator[dict[str, Any]]:
        names = self.columns
        columns = [self._columns.values(name, start, count) for name in names]
        return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

    def head(self, count: int = 5) -> Table:
        """The first rows, as a table of their own: a copy."""
        if count < 0:
            raise ValueError(f"head({count}): write a number of rows from 0 on")
        columns = []
        for name in self.columns:
            values = self._columns.values(name, 0, min(count, len(self)))
            kind = next((type(value).__name__ for value in values if value is not None), "float")
            columns.append((name, kind, values))
        return Table(_tailcut.Columns.of(columns))

    @property
    def df(self) -> pandas.DataFrame:
        """:meth:`to_pandas` in short."""
        return self.to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """The table for pyarrow, in the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas in the same memory: its columns have Arrow's types. Wants pandas and
        pyarrow."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> polars.DataFrame:
        """A data frame of polars; columns of numbers are in the same memory."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_schema__(self) -> object:
        return self._columns.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)

    def _address(self, column: str) -> int:
        """Where the numbers of a column lie."""
        return self._columns.address(column)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        names, rows = self._excerpt()
        cells = [names, *rows]
        widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells
        ]
        return "\n".join([*lines, self._size()])

    def _repr_html_(self) -> str:
        names, rows = self._excerpt()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{html.escape(self._size())}</p>"

    def _size(self) -> str:
        return f"[{len(self)} rows x {len(self.columns)} columns]"

    def _excerpt(self) -> tuple[list[str], list[list[str]]]:
        names = self.columns
        wide = names if len(names) <= _WIDE else [*names[: _WIDE - 1], "..."]
        length, half = len(self), _SHOWN // 2
        if length <= _SHOWN:
            rows = self._shown(names, wide, 0, length)
        else:
            gap = ["..."] * len(wide)
            rows = [*self._shown(names, wide, 0, half), gap, *self._shown(names, wide, length - half, half)]
        return wide, rows

    def _shown(self, names: list[str], wide: list[str], start: int, count: int) -> list[list[str]]:
        columns = [
            [cell(value) for value in self._columns.values(name, start, count)]
            if name in names
            else ["..."] * count
            for name in wide
        ]
        return [list(row) for row in zip(*columns, strict=True)]


def cell(value: Any) -> str:
    """A value as a reader sees it."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.6g}"
    return str(value)


def markup(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], below: str = "") -> str:
    """A small table for a notebook. It has no colours of its own, so that it fits light and dark ones."""
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell(one))}</td>' for one in row)}</tr>" for row in rows)
    after = f"<p>{html.escape(below)}</p>" if below else ""
    return (
        f"<p><strong>{html.escape(title)}</strong></p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{after}"
    )


def time(nanos: float | None) -> str:
    """A length of time in three digits: 88.5 µs."""
    if nanos is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # What rounds to a thousand of a unit is one of the next.
        if nanos >= size * 0.9995:
            return f"{nanos / size:.3g} {unit}" if nanos < 999.5 * size else f"{nanos / size:.0f} {unit}"
    return f"{nanos:.0f} ns"
