"""Recorded traces."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from . import _tailcut
from ._progress import Progress, told
from ._table import Table, markup


def trace(path: str | PathLike[str], *, skip_bad_lines: bool = False, progress: Progress = None) -> Trace:
    """Looks through a trace: any of 13 formats, plain, gzip or zstd.

    :param path: the file.
    :param skip_bad_lines: skip lines that cannot be read, and count them.
    :param progress: as in :func:`run`, in requests.
    :raises ScenarioError: a file that cannot be read, or is no trace; the text names its bad lines.
    """
    with told(progress, "trace", "requests") as tell:
        info = json.loads(_tailcut.trace_info(path, skip_bad_lines, tell))
    return Trace(path, info, skip_bad_lines)


class Trace:
    """A trace that was looked through once."""

    def __init__(self, path: str | PathLike[str], info: dict[str, Any], skip_bad_lines: bool) -> None:
        self._path, self._info, self._skip = path, info, skip_bad_lines

    @property
    def info(self) -> dict[str, Any]:
        """What kind of load it is: all that ``tailcut trace info --json`` prints. Times are in ns."""
        return self._info

    @property
    def requests(self) -> Table:
        """Its requests, read from the file now; see :meth:`head` for a part of them.

        Columns: ``due_ns`` since the first one; ``disk``; ``op`` (read, write, trim, flush); ``fua``, 1 for
        force unit access; ``offset`` and ``bytes``; and ``response_ns``, where the trace says how long they
        took.
        """
        return self.head(None)

    def head(self, count: int | None, *, progress: Progress = None) -> Table:
        """The first ``count`` requests, with the columns of :attr:`requests`."""
        with told(progress, "trace", "requests") as tell:
            return Table(_tailcut.trace_requests(self._path, self._skip, count, tell))

    def __fspath__(self) -> str:
        import os

        return os.fspath(self._path)

    def __repr__(self) -> str:
        info = self._info
        return f"<tailcut.Trace: {info['file']}, {info['format']}, {info['requests']} requests>"

    def _repr_html_(self) -> str:
        rows = [[op["op"], op["requests"], op["bytes"]] for op in self._info["mix"] if op["requests"]]
        return markup(repr(self).strip("<>"), ["kind", "requests", "bytes"], rows)
