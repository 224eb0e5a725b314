"""Runs of a comparison on the workers of a Dask cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _tailcut

if TYPE_CHECKING:
    from distributed import Client


def run_on(client: Client, plan: _tailcut.Plan, tell: Callable[[int, int | None], object] | None) -> None:
    """Does what is open of a plan. Each run leaves as its resolved scenario and comes back as its line of
    ``points.jsonl``, which is kept as soon as it is there, so that whatever ends this loses nothing that was
    finished."""
    from distributed import as_completed

    _refuse_others(client)
    jobs, runs = plan.open(), plan.runs()
    done = runs - len(jobs)
    if tell is not None:
        tell(done, runs)
    # A name of its own for each call: what an earlier one has cancelled may still be on its way out of the
    # cluster.
    call = uuid.uuid4().hex
    futures = [
        client.submit(run_job, _tailcut.__version__, digest, scenario, key=f"tailcut-{digest}-{call}")
        for digest, scenario in jobs
    ]
    try:
        for future in as_completed(futures):
            plan.keep(future.result())
            future.release()
            done += 1
            if tell is not None:
                tell(done, runs)
    except BaseException:
        client.cancel(futures)
        raise


def run_job(version: str, digest: str, scenario: str) -> str:
    """What a worker does. It may have joined after the others were asked for their version."""
    if version != _tailcut.__version__:
        from distributed import get_worker

        raise _tailcut.TailcutError(_other({get_worker().address: _tailcut.__version__}, version))
    return _tailcut.run_job(digest, scenario)


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
