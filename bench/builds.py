#!/usr/bin/env python3
"""What the servers cost in one build of tailcut, relative to another.

    bench/builds.py OLD NEW [ROUNDS [SHAPE...]]

OLD and NEW are two binaries, for example of two commits built with `cargo build --profile dist`. Prints for each
shape:

- processor time of the server per operation, NEW ÷ OLD, as median, minimum and maximum of interleaved rounds (5);
- operations per second, likewise;
- with valgrind installed, instructions of the key-value server per command, which other load does not change.

The load is the same for both: NEW's own client (`bench kv`) and fio. Files are on /dev/shm, so that no disk
decides. Shapes: get-memory, get-flash, set-flash, read-4k, write-4k, read-128k, write-128k; restart of a store after
SIGTERM, and after SIGKILL (kill).
"""
import contextlib
import json
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
FLASH = ["--items", "300000", "--value", "400"]
# Arguments of the server, of the load before the measurement, and of the measured load.
KV = {
    "get-memory": (["--memory-only", "-m", "256"], ["--items", "100000"], ["--items", "100000", "--gets", "100"]),
    "get-flash": (["--device", "file", "-m", "16", "-M"], FLASH, FLASH + ["--gets", "100"]),
    "set-flash": (["--device", "file", "-m", "16"], None, FLASH + ["--gets", "0"]),
}
BLOCK = {"read-4k": "randread", "write-4k": "randwrite", "read-128k": "randread", "write-128k": "randwrite"}
RESTARTS = {"restart": signal.SIGTERM, "kill": signal.SIGKILL}
SECONDS = 3


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    builds = {"old": pathlib.Path(sys.argv[1]).resolve(), "new": pathlib.Path(sys.argv[2]).resolve()}
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    shapes = sys.argv[4:] or [*KV, *BLOCK, *RESTARTS]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        place = pathlib.Path(folder)
        results = {shape: [] for shape in shapes}
        for number in range(rounds):
            order = ["old", "new"] if number % 2 == 0 else ["new", "old"]
            for shape in shapes:
                results[shape].append({name: measure(builds[name], builds["new"], place, shape) for name in order})
                print(f"round {number + 1} of {rounds}: {shape}", file=sys.stderr)
        print("shape, processor time per operation NEW ÷ OLD (minimum … maximum), operations per second NEW ÷ OLD")
        for shape, pairs in results.items():
            cost = [pair["new"][0] / pair["old"][0] for pair in pairs]
            rate = [pair["new"][1] / pair["old"][1] for pair in pairs]
            print(f"{shape}: {statistics.median(cost):.3f} ({min(cost):.3f} … {max(cost):.3f}), "
                  f"{statistics.median(rate):.3f}")
        if shutil.which("valgrind"):
            print("shape, instructions per command OLD, NEW, NEW ÷ OLD")
            for shape in (shape for shape in shapes if shape in KV):
                old, new = (instructions(builds[name], place, shape) for name in ("old", "new"))
                print(f"{shape}: {old:.0f}, {new:.0f}, {new / old:.3f}")


def measure(build, client, place, shape):
    """Processor seconds of the server per operation, and operations per second."""
    if shape in KV:
        return measure_kv(build, client, place, *KV[shape])
    if shape in BLOCK:
        return measure_block(build, place, BLOCK[shape], shape.split("-")[1])
    return measure_restart(build, client, place, RESTARTS[shape])


def measure_kv(build, client, place, arguments, load, bench):
    blank(place, 1 << 30)
    with server(build, place, ["kv", "-s", "socket", "-t", "1", *arguments]) as process:
        ask = [client, "bench", "kv", "--unix", "socket", "--depth"]
        if load:
            run([*ask, "32", "--load", "--time", "100ms", *load], place)
        before = processor_seconds(process)
        said = json.loads(run([*ask, "16", "--time", f"{SECONDS}s", "--json", "-", *bench], place))
        return (processor_seconds(process) - before) / said["commands"], said["commands_per_s"]


def measure_block(build, place, pattern, size):
    (place / "file").write_bytes(b"x" * (256 * MIB))
    with server(build, place, ["block", "--unix", "socket", "--device", "file"]) as process:
        before = processor_seconds(process)
        text = run(["fio", "--name=x", "--ioengine=nbd", "--uri=nbd+unix:///disk?socket=socket", f"--rw={pattern}",
                    f"--bs={size}", "--iodepth=32", "--time_based", f"--runtime={SECONDS}", "--output-format=json"],
                   place)
        job = json.loads(text[text.index("{"):])["jobs"][0]["read" if "read" in pattern else "write"]
        return (processor_seconds(process) - before) / job["total_ios"], job["iops"]


def measure_restart(build, client, place, how):
    """Of a store of 600,000 items: processor seconds until it answers, and restarts per second."""
    blank(place, 1 << 30)
    arguments = ["kv", "-s", "socket", "-t", "1", "-M", "--device", "file", "-m", "64"]
    with server(build, place, arguments, how):
        run([client, "bench", "kv", "--unix", "socket", "--load", "--items", "600000", "--depth", "32", "--time",
             "1500ms"], place)
    begin = time.monotonic()
    with server(build, place, arguments) as process:
        with connected(place) as stream:
            stream.sendall(b"get x\r\n")
            stream.recv(100)
        return processor_seconds(process), 1 / (time.monotonic() - begin)


def instructions(build, place, shape):
    """Instructions per command, the difference of a long and a short run: without start and load."""
    counts = [collected(build, place, shape, batches) for batches in (500, 2500)]
    return (counts[1] - counts[0]) / (2000 * 16)


def collected(build, place, shape, batches):
    items = 40_000 if shape == "get-flash" else 2_000
    value = b"v" * 400
    put = b"set key%07d 0 0 400\r\n" + value + b"\r\n"
    command = put if shape == "set-flash" else b"get key%07d\r\n"
    blank(place, 1 << 30)
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={place}/callgrind", build]
    with server(valgrind, place, ["kv", "-s", "socket", "-t", "1", *KV[shape][0]]) as process:
        with connected(place) as stream, stream.makefile("rwb") as lines:
            def answers(count):
                lines.flush()
                for _ in range(count):
                    if lines.readline().startswith(b"VALUE"):
                        lines.readline(), lines.readline()

            for first in range(0, items, 100):
                lines.write(b"".join(put % key for key in range(first, first + 100)))
                answers(100)
            for batch in range(batches):
                lines.write(b"".join(command % ((batch * 7919 + number * 31) % items) for number in range(16)))
                answers(16)
    return int(re.search(rb"Collected : (\d+)", process.stderr.read()).group(1))


@contextlib.contextmanager
def server(build, place, arguments, how=signal.SIGTERM):
    for name in ("socket", "socket.ctl"):
        (place / name).unlink(missing_ok=True)
    command = [*(build if isinstance(build, list) else [build]), "serve", arguments[0], "-q", *arguments[1:]]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), connected(place):
                break
            time.sleep(0.0005)
        else:
            raise SystemExit(f"{command}: {process.stderr.read().decode()}")
        yield process
    finally:
        process.send_signal(how)
        process.wait()


def connected(place):
    stream = socket.socket(socket.AF_UNIX)
    try:
        stream.connect(str(place / "socket"))
    except OSError:
        stream.close()
        raise
    return stream


def processor_seconds(process):
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def blank(place, size):
    with open(place / "file", "wb") as file:
        file.truncate(size)


def run(command, place):
    return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
