"""Runs of comparisons, studies and calibrations on the workers of a Dask cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _tailcut

if TYPE_CHECKING:
    from distributed import Client


Tell = Callable[[int, int | None], object] | None


def run_on(client: Client, plan: _tailcut.Plan, tell: Tell) -> None:
    """Does what is open of a plan. Each run leaves as its resolved scenario and comes back as its line of
    ``points.jsonl``, which is kept as soon as it is there, so that whatever ends this loses nothing that was
    finished."""
    _refuse_others(client)
    jobs, runs = plan.open(), plan.runs()
    _gather(client, run_job, jobs, runs - len(jobs), lambda _, line: plan.keep(line), tell)


def map_on(client: Client, work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], tell: Tell) -> list[Any]:
    """What ``work`` makes of each job, each whole on one worker, in the order of the jobs."""
    _refuse_others(client)
    results: dict[int, Any] = {}
    _gather(client, work, jobs, 0, results.__setitem__, tell)
    return [results[place] for place in range(len(jobs))]


def _gather(
    client: Client,
    work: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    done: int,
    keep: Callable[[int, Any], object],
    tell: Tell,
) -> None:
    from distributed import as_completed

    total = done + len(jobs)
    if tell is not None:
        tell(done, total)
    # A name of its own for each call: what an earlier one has cancelled may still be on its way out of the
    # cluster.
    call = uuid.uuid4().hex
    futures = {
        client.submit(work, _tailcut.__version__, *job, key=f"tailcut-{place}-{call}"): place
        for place, job in enumerate(jobs)
    }
    try:
        for future in as_completed(list(futures)):
            keep(futures[future], future.result())
            future.release()
            done += 1
            if tell is not None:
                tell(done, total)
    except BaseException:
        client.cancel(list(futures))
        raise


def run_job(version: str, digest: str, scenario: str) -> str:
    """What a worker does for a comparison."""
    refuse_other(version)
    return _tailcut.run_job(digest, scenario)


def refuse_other(version: str) -> None:
    """A worker may have joined after the others were asked for their version."""
    if version != _tailcut.__version__:
        from distributed import get_worker

        raise _tailcut.TailcutError(_other({get_worker().address: _tailcut.__version__}, version))


def threads() -> int:
    """How many runs a worker does at a time: one for each of its threads."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _refuse_others(client: Client) -> None:
    def version() -> str | None:
        # A function within another is sent as it is, so that a worker without tailcut can say so.
        try:
            import tailcut
        except ImportError:
            return None
        return tailcut.__version__

    versions = client.run(version)
    others = {worker: other for worker, other in versions.items() if other != _tailcut.__version__}
    if others:
        raise _tailcut.TailcutError(_other(others, _tailcut.__version__))
    if not versions:
        raise _tailcut.TailcutError("the cluster has no workers; start some, then compare again")


def _other(workers: dict[str, str | None], version: str) -> str:
    each = ", ".join(f"{worker} has {other or 'none'}" for worker, other in sorted(workers.items()))
    return f"workers have another tailcut than {version}: {each}; install tailcut {version} there"
