#!/usr/bin/env python3
"""Instructions per simulated request of 4 KiB, counted by valgrind: equal within 0.01 % on a busy machine.

    bench/instructions.py                prints the counts beside those of bench/instructions.txt
    bench/instructions.py --check        and ends with 1 if one is more than 2 % higher
    bench/instructions.py --write        and writes them to that file
    bench/instructions.py --where CASE   instructions and cache misses per request by part of the source;
                                         --set KEY=VALUE changes the case

Needs valgrind and a release build of tailcut (TAILCUT names another program). Each case runs twice. The
difference of the counts by the difference of the requests is the cost of a request, from its source to the
report, without preparing the drive. Drives are small, since the cost of a request does not grow with them.
Counts by another compiler than that of the file are printed and not judged.
"""

import argparse, collections, os, pathlib, re, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "bench/instructions.txt"
BOUND = 1.02
SHORT, LONG = 20_000, 60_000

SMALL = "device.geometry.blocks=64 precondition.fill=100% workload.pace=closed run.ramp=0s run.duration=0s"
M = f"device.preset=m-32g device.ftl.spare=28% {SMALL}"
G = f"device.preset=g-1g {SMALL}"
PM = ("device.preset=pm9a3-960 device.geometry.channels=2 device.geometry.chips=1 device.geometry.dies=2 "
      f"device.ftl.spare=28% {SMALL}")
CASES = {
    "reads": ("reads, 64 at a time", f"{M} workload.read=100% workload.depth=64"),
    "mixed": ("70 % reads, 16 at a time", f"{M} workload.read=70% workload.depth=16"),
    "writes": ("writes under collection, 16 at a time", f"{G} workload.read=0% workload.depth=16"),
    "superblock-mixed": ("superblocks, 70 % reads, 16 at a time",
                         f"{PM} workload.read=70% workload.depth=16"),
    "superblock-writes": ("superblocks, writes under collection, 16 at a time",
                          f"{PM} workload.read=0% workload.depth=16"),
    "raid0": ("RAID 0 of one drive, reads, 64 at a time",
              f"{M} array.layout=raid0 array.drives=1 workload.read=100% workload.depth=64"),
    "raid5": ("RAID 5 of four drives, 50 % reads, 16 at a time",
              f"{G} array.layout=raid5 array.drives=4 workload.read=50% workload.depth=16"),
    "host": ("host with interrupts, reads by 16 threads",
             f"{M} host.strategy=nvme host.threads=16 workload.read=100%"),
}


def run(tailcut, settings, requests, work, *options):
    """Runs a case under callgrind; returns the file with its counts."""
    counts = work / f"counts-{requests}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", *options]
    command += [tailcut, "run", "--quiet", "--out", work / "results"]
    for setting in [*settings.split(), f"run.requests={requests}"]:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return counts


def total(counts):
    """All instructions of a run."""
    return int(re.search(r"^(?:totals|summary): (\d+)", counts.read_text(), re.M).group(1))


def part_of(file):
    if own := re.search(r"crates/(\w+)/src/(\w+)", file):
        return f"{own[1]}/{own[2]}"
    if "multiarch" in file:
        return "memcpy, memset"
    return "standard library" if "/rustc/" in file else "other"


def by_part(counts):
    """The counts of a run by part of the source: crate and module, or the library. The format is described in
    valgrind's manual, "Callgrind Format Specification": names are given once and then by number, and the costs
    of calls follow "calls="."""
    events, files, part, is_call, parts = [], {}, "other", False, collections.Counter()
    for line in counts.read_text().splitlines():
        if line.startswith("events: "):
            events = line.split()[1:]
        elif named := re.match(r"(?:fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$", line):
            if named[2]:
                files[named[1]] = part_of(named[2])
            if not line.startswith("c"):
                part = files[named[1]]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in "+-*0123456789" and line[:1]:
            if not is_call:
                for event, number in zip(events, line.split()[1:]):
                    parts[part, event] += int(number)
            is_call = False
    return events, parts


def where(tailcut, case, changes, work):
    name, settings = CASES[case]
    settings = " ".join([settings, *changes])
    counts = (run(tailcut, settings, requests, work, "--cache-sim=yes") for requests in (SHORT, LONG))
    (events, few), (_, many) = map(by_part, counts)
    shown = {"Ir": "instructions", "I1mr": "I1 misses", "D1mr": "D1 read misses", "DLmr": "L3 read misses"}
    shown = {event: title for event, title in shown.items() if event in events}
    rate = lambda part, event: round((many[part, event] - few[part, event]) / (LONG - SHORT), 1) + 0.0
    parts = sorted({part for part, _ in many}, key=lambda part: -rate(part, "Ir"))
    print(f"{name}: per request\n\n| part | {' | '.join(shown.values())} |\n| --- |{' ---: |' * len(shown)}")
    print(f"| all | {' | '.join(f'{sum(rate(part, event) for part in parts):.1f}' for event in shown)} |")
    for part in parts:
        if rate(part, "Ir") >= 5:
            print(f"| {part} | {' | '.join(f'{rate(part, event):.1f}' for event in shown)} |")


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--where", choices=CASES)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed, see .ci/programs")
        return 0
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    tailcut = shutil.which(os.environ.get("TAILCUT", f"{target}/release/tailcut"))
    if not tailcut:
        sys.exit("tailcut is missing: cargo build --release")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if arguments.where:
            where(tailcut, arguments.where, arguments.set, work)
            return 0
        compiler = subprocess.check_output(["rustc", "--version"], text=True).strip()
        known_compiler, *lines = PAGE.read_text().splitlines() if PAGE.exists() else ["none"]
        known = dict(line.rsplit("|", 1) for line in lines)
        judged = arguments.check and known_compiler == compiler
        counts, too_many = {}, []
        print("| instructions per request | known | now | ratio |\n| --- | ---: | ---: | ---: |")
        for name, settings in CASES.values():
            few, many = (total(run(tailcut, settings, requests, work)) for requests in (SHORT, LONG))
            counts[name] = round((many - few) / (LONG - SHORT))
            ratio = counts[name] / int(known[name]) if name in known else None
            shown = f"{ratio:.3f}" if ratio else ""
            print(f"| {name} | {known.get(name, '')} | {counts[name]} | {shown} |", flush=True)
            if judged and (ratio is None or ratio > BOUND):
                too_many.append(name)
    if known_compiler != compiler:
        print(f"counted with {compiler}, known are those of {known_compiler}")
    if arguments.write:
        PAGE.write_text("\n".join([compiler, *(f"{name}|{count}" for name, count in counts.items())]) + "\n")
    for name in too_many:
        reason = f"more than 2 % above {PAGE.name}; a commit that changes that file gives the reason"
        print(f"{name}: {reason}", file=sys.stderr)
    return 1 if too_many else 0


sys.exit(main())
