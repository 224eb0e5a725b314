"""Ctrl-C and progress: whoever waits can stop, and sees how far it is."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import tailcut

# Of a run of minutes; far more than it should need, so that a busy machine is no failure.
PATIENCE_S = 20


def interrupted(call) -> float:
    """Sends this process the signal of Ctrl-C as soon as `call` is under way; how long it took to end, in seconds."""
    sent = []

    def tell(done: int, total: int | None) -> None:
        if not sent:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    # A process that a script has started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            call(tell)
    finally:
        signal.signal(signal.SIGINT, before)
    return time.monotonic() - sent[0]


def test_ctrl_c_ends_a_run(long):
    assert interrupted(lambda tell: tailcut.run(long, progress=tell)) < PATIENCE_S


def test_ctrl_c_ends_a_study():
    assert interrupted(lambda tell: tailcut.study("swan-8", progress=tell)) < PATIENCE_S


def test_ctrl_c_without_anybody_who_listens_ends_a_run(long, tmp_path: Path):
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(f"""
        import tailcut
        print("ready", flush=True)
        tailcut.run({long!r}, progress=False)
        """)
    )
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt"), errors


def test_an_interrupted_comparison_keeps_what_is_finished(small, tmp_path: Path):
    def compare(progress, rates) -> tailcut.Comparison:
        return tailcut.compare(small, vary={"workload.rate": rates}, out=tmp_path, jobs=1, progress=progress)

    def tell(done: int, total: int | None) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    rates = list(range(10_000, 30_000, 250))
    with pytest.raises(KeyboardInterrupt):
        compare(tell, rates)
    lines = (tmp_path / "points.jsonl").read_text().splitlines()
    assert 2 <= len(lines) < len(rates)
    done_before = []
    compare(lambda done, total: done_before.append(done), rates[:2])
    assert len((tmp_path / "points.jsonl").read_text().splitlines()) == len(lines), "nothing is run again"


def test_an_exception_of_who_is_told_ends_a_run(long):
    def tell(done: int, total: int | None) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tailcut.run(long, progress=tell)


def test_other_threads_go_on_meanwhile(long):
    ticks = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(None)

    counter = threading.Thread(target=tick)
    counter.start()

    def tell(done: int, total: int | None) -> None:
        if len(ticks) > 20:
            raise StopAsyncIteration

    try:
        with pytest.raises(StopAsyncIteration):
            tailcut.run(long, progress=tell)
    finally:
        over.set()
        counter.join()


def test_who_is_told_hears_how_far_it_is(long):
    heard = []

    def tell(done: int, total: int | None) -> None:
        heard.append((done, total))
        if len(heard) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tailcut.run(long, progress=tell)
    done = [count for count, _ in heard]
    assert done == sorted(done) and done[-1] > 0
    assert heard[-1][1] == 1_000_000_000


def test_nobody_looks_at_a_file(capsys):
    from tailcut import _progress

    pytest.importorskip("ipykernel")
    with _progress.told(None, "run", "requests") as tell:
        assert tell is None, "that a notebook's packages are loaded makes no notebook"


def test_a_bar_appears_after_a_while_and_goes_away(small, monkeypatch, capsys):
    from tailcut import _progress

    monkeypatch.setattr(_progress, "_SILENCE_S", 0.0)
    rates = list(range(10_000, 15_000, 50))
    tailcut.compare(small, vary={"workload.rate": rates}, jobs=1, progress=True)
    shown = capsys.readouterr().err
    assert "compare" in shown and "/100" in shown
    tailcut.compare(small, vary={"workload.rate": [1000, 2000]}, jobs=1, progress=False)
    tailcut.compare(small, vary={"workload.rate": [1000, 2000]}, jobs=1)
    assert capsys.readouterr().err == "", "nobody looks at a file"
