#!/usr/bin/env python3
"""CPU time and memory of whole runs under other allocators, and without huge pages, relative to the default.

    bench/memory.py [ROUNDS]

Needs a release build of tailcut (TAILCUT names another program). Allocators are tried where the system has
their libraries (Debian: libjemalloc2, libmimalloc2.0, libtcmalloc-minimal4). Prints the median of interleaved
rounds (5), and the lowest and highest.
"""

import ctypes, glob, os, pathlib, statistics, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PR_SET_THP_DISABLE = 41
RUN = "precondition.fill=75% workload.pace=closed run.ramp=0s run.duration=0s run.requests=400000"
CASES = {
    "reads, 64 at a time, 32 GiB": f"device.preset=m-32g {RUN} workload.read=100% workload.depth=64",
    "70 % reads, 16 at a time, 32 GiB": f"device.preset=m-32g {RUN} workload.read=70% workload.depth=16",
    "writes under collection, 1 GiB": f"device.preset=g-1g {RUN} workload.read=0% workload.depth=16",
    "RAID 5 of four drives of 1 GiB": f"device.preset=g-1g array.layout=raid5 array.drives=4 {RUN} "
                                      "workload.read=50% workload.depth=16",
}


def variants():
    """The names of the variants, each with its environment and whether huge pages are off."""
    yield "default", {}, False
    yield "no huge pages", {}, True
    yield "huge pages for the heap (glibc.malloc.hugetlb)", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, False
    for name in ["jemalloc", "mimalloc", "tcmalloc_minimal"]:
        found = sorted(glob.glob(f"/usr/lib/*/lib{name}.so.*") + glob.glob(f"/usr/lib/lib{name}.so.*"))
        if found:
            yield name, {"LD_PRELOAD": found[0]}, False


def measure(tailcut, settings, environment, no_huge):
    """CPU seconds and peak memory in MiB of a run."""
    with tempfile.TemporaryDirectory() as out:
        command = [tailcut, "run", "--quiet", "--out", out]
        for setting in settings.split():
            command += ["--set", setting]
        libc = ctypes.CDLL(None)
        before = (lambda: libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) if no_huge else None
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, **environment}, preexec_fn=before)
        message = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(message.decode())
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    tailcut = os.environ.get("TAILCUT", ROOT / "target/release/tailcut")
    if not pathlib.Path(tailcut).exists():
        sys.exit(f"{tailcut} is not there: cargo build --release, or name a program with TAILCUT")
    names = [name for name, _, _ in variants()]
    print("| case | " + " | ".join(names) + " |")
    print("| --- | " + " | ".join("---:" for _ in names) + " |")
    for case, settings in CASES.items():
        results = {name: [] for name in names}
        for number in range(rounds):
            for name, environment, no_huge in sorted(variants(), reverse=number % 2 == 1):
                results[name].append(measure(tailcut, settings, environment, no_huge))
            print(f"{case}: round {number + 1} of {rounds}", file=sys.stderr)
        cells = []
        for name in names:
            times = [mine[0] / base[0] for mine, base in zip(results[name], results["default"])]
            memory = statistics.median(mine[1] for mine in results[name])
            seconds = statistics.median(mine[0] for mine in results[name])
            what = f"{seconds:.2f} s" if name == "default" else \
                f"{statistics.median(times):.2f} ({min(times):.2f} … {max(times):.2f})"
            cells.append(f"{what}, {memory:.0f} MiB")
        print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
