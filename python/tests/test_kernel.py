"""In a notebook: the kernel behind one, as it is told and heard by it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty

import pytest

manager = pytest.importorskip("jupyter_client.manager")
pytest.importorskip("ipykernel")


@pytest.fixture(scope="module")
def kernel() -> Iterator[tuple]:
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    yield kernel, client
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


def execute(kernel: tuple, code: str, hears: Callable[[dict], None] = lambda message: None) -> list[dict]:
    """What the kernel says of a cell until it is idle again."""
    _, client = kernel
    cell, said = client.execute(code), []
    while True:
        message = None
        with suppress(Empty):
            message = client.get_iopub_msg(timeout=60)
        assert message is not None, f"the kernel says nothing; so far: {said}"
        if message["parent_header"].get("msg_id") != cell:
            continue
        said.append(message)
        hears(message)
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return said


def test_the_stop_button_ends_a_run_whose_bar_is_there(kernel, long):
    stopped = []

    def stop(message: dict) -> None:
        if message["msg_type"] == "stream" and "run:" in message["content"]["text"] and not stopped:
            stopped.append(message)
            kernel[0].interrupt_kernel()

    said = execute(kernel, f"import tailcut\ntailcut.run({long!r})", stop)
    assert stopped and "/1.00G" in stopped[0]["content"]["text"]
    assert [one["content"]["ename"] for one in said if one["msg_type"] == "error"] == ["KeyboardInterrupt"]


def test_a_result_is_a_table(kernel, small):
    said = execute(kernel, f"import tailcut\ntailcut.run({small!r})")
    shown = [one["content"]["data"] for one in said if one["msg_type"] == "execute_result"]
    assert len(shown) == 1 and "<td>read</td>" in shown[0]["text/html"]
    assert "tailcut.Run" in shown[0]["text/plain"]
