"""The picture of a tail with matplotlib: latency by percentile, the area below coloured by cause."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._table import time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Causes from the bottom up: the work itself, then waits from the near to the far.
_STACK = [
    "cell",
    "bus transfer",
    "bus command",
    "link",
    "controller",
    "host queue",
    "tag",
    "buffer full",
    "commit wait",
    "bus wait",
    "chip: user read",
    "chip: user write",
    "chip: gc read",
    "chip: gc program",
    "chip: erase",
]
# Causes with less than this share of every band are drawn together.
_SMALL = 0.02


def plot(report: Mapping[str, Any], kind: str, ax: Axes | None) -> Axes:
    """Draws the requests of ``kind`` into ``ax``, or into a new figure."""
    import matplotlib.pyplot as plt

    details = {one["kind"]: one for one in report["detail"]["kinds"]}
    if kind not in details:
        raise ValueError(f"the run has no requests of the kind {kind!r}; it has {', '.join(details)}")
    detail = details[kind]
    bare = next(one for one in report["kinds"] if one["kind"] == kind)["latency"]["bare_ns"]
    requests = sum(band["requests"] for band in detail["bands"])
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")

    heights = [
        (_step(percentile, requests), nanos / 1e6, {wait["cause"]: wait["share"] for wait in band["waits"]})
        for band in detail["bands"]
        for percentile, nanos in detail["curve"]
        if band["from"] <= percentile <= band["to"]
    ]
    xs = [x for x, _, _ in heights]
    layers: dict[str, list[float]] = {
        cause: [ms * shares.get(cause, 0.0) for _, ms, shares in heights] for cause in _causes(detail)
    }
    others = [ms - sum(layer[i] for layer in layers.values()) for i, (_, ms, _) in enumerate(heights)]
    if any(rest > 1e-9 * ms for rest, (_, ms, _) in zip(others, heights, strict=True)):
        layers["others"] = [max(rest, 0.0) for rest in others]
    ax.stackplot(xs, list(layers.values()), labels=list(layers), colors=plt.get_cmap("tab20").colors)
    curve = [(_step(percentile, requests), nanos / 1e6) for percentile, nanos in detail["curve"]]
    ax.plot(*zip(*curve, strict=True), color="black", linewidth=1.5)
    if bare > 0:
        ax.axhline(bare / 1e6, color="black", linewidth=1, linestyle="--", label=f"idle drive: {time(bare)}")

    furthest = math.floor(max(xs, default=1.0))
    marks = {0.0: "0", _step(50.0, requests): "50"} | {
        float(n): f"{100 - 10 ** (2 - n):.{max(n - 2, 0)}f}" for n in range(1, furthest + 1)
    }
    ax.set_xticks(list(marks), list(marks.values()))
    ax.set_xlim(0, max(xs, default=1.0))
    ax.set_ylim(bottom=0)
    ax.set_xlabel(f"percentile of {kind}s, each step leaves a tenth" if kind != "all" else "percentile")
    ax.set_ylabel("latency, ms")
    ax.legend(loc="upper left", fontsize="small")
    return ax


def _step(percentile: float, requests: int) -> float:
    """The place of a percentile on the axis; the slowest request is at the last place that it can have."""
    return -math.log10(max(1 - percentile / 100, 1 / max(requests, 1)))


def _causes(detail: Mapping[str, Any]) -> list[str]:
    large = {
        wait["cause"] for band in detail["bands"] for wait in band["waits"] if wait["share"] >= _SMALL
    }
    place = {cause: number for number, cause in enumerate(_STACK)}
    return sorted(large, key=lambda cause: (place.get(cause, len(place)), cause))
