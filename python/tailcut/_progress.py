"""How far something is, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = bool | Callable[[int, int | None], object] | None
"""``None``: a bar where somebody looks, a terminal or a notebook; ``True``: a bar in any case; ``False``:
none; or a function that is told how many are done, and of how many, or None where that is not known."""

# What takes less than this needs no bar.
_SILENCE_S = 1.0


@contextmanager
def told(progress: Progress, label: str, things: str) -> Iterator[Callable[[int, int | None], object] | None]:
    """What the extension tells while it works, if anything."""
    if callable(progress):
        yield progress
    elif progress or (progress is None and _is_watched()):
        bar = _Bar(label, things)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield None


def _is_watched() -> bool:
    return _is_in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _is_in_notebook() -> bool:
    """This is a notebook's kernel; that its packages are loaded does not make it one: Dask loads them, too."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class _Bar:
    """A bar that appears when it is wanted."""

    def __init__(self, label: str, things: str) -> None:
        self._label, self._things = label, things
        self._since = time.monotonic()
        self._bar: Any = None

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._since < _SILENCE_S:
                return
            # What was done before the bar is no part of its rate.
            self._bar = _tqdm()(
                desc=self._label,
                unit=f" {self._things}",
                initial=done,
                total=total,
                unit_scale=True,
                leave=False,
            )
        if total is not None and total != self._bar.total:
            self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _tqdm() -> Any:
    with warnings.catch_warnings():
        # In a notebook without widgets it is a bar of text, and there is nothing to warn of.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm
