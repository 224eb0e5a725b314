#!/usr/bin/env bash
# How many simulated requests a CPU second buys, against MQSim. Three loads of 4 KiB requests in a closed loop, each as a
# whole process, start-up and preparation included. Needs a release build of tailcut, python3, and MQSim's source tree with
# its program built (`make`, which uses -O3) and its own ssdconfig.xml and workload.xml beside it.
#
#     bench/mqsim.sh MQSIM_FOLDER [ROUNDS [REQUESTS]]        5 rounds of 1,000,000 requests by default
#
# Rounds are interleaved; the table shows the median CPU seconds of each program and the median of the ratios within a round.
# Where there is no such folder the script says so and ends with 0.
#
# Both simulate the same work: NVDDR2 at 333 MT/s, read 75 us, program 750 us, erase 3.8 ms, one ready/busy line per chip,
# static allocation, no DRAM buffer, the whole map in memory. `Stop_Time` is 0, since MQSim hangs with a large one.
set -euo pipefail
folder=${1:-} rounds=${2:-5} requests=${3:-1000000}
if [ -z "$folder" ] || ! [ -x "$folder/MQSim" ]; then
    echo "SKIPPED: there is no built MQSim in '${folder:-(no folder was given)}'"
    exit 0
fi
folder=$(realpath "$folder")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
command -v "$tailcut" >/dev/null || { echo "$tailcut is missing: cargo build --release" >&2; exit 1; }

exec python3 - "$folder" "$(realpath "$tailcut")" "$rounds" "$requests" <<'PYTHON'
import os, pathlib, resource, statistics, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

folder, tailcut, rounds, requests = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

# channels, chips, dies, planes, blocks, pages; spare; garbage collection threshold; occupancy in per cent
M = dict(shape=(8, 4, 2, 2, 256, 256), spare=0.07, threshold=0.05, victim="RGA", occupancy=75, preset="m-32g")
G = dict(shape=(4, 2, 1, 2, 256, 64), spare=0.28, threshold=0.05, victim="GREEDY", occupancy=100, preset="g-1g")
CASES = [
    ("reads, 64 at a time, 32 GiB", M, 100, 64),
    ("70 % reads, 16 at a time, 32 GiB", M, 70, 16),
    ("writes under collection, 16 at a time, 1 GiB", G, 0, 16),
]


def of_mqsim(drive, read, depth, place):
    """MQSim's own files, with what the case changes."""
    device = xml.parse(folder / "ssdconfig.xml")
    channels, chips, dies, planes, blocks, pages = drive["shape"]
    values = {
        "Caching_Mechanism": "SIMPLE", "Ideal_Mapping_Table": "true", "Transaction_Scheduling_Policy": "OUT_OF_ORDER",
        "Overprovisioning_Ratio": drive["spare"], "GC_Exec_Threshold": drive["threshold"],
        "GC_Block_Selection_Policy": drive["victim"], "PCIe_Lane_Bandwidth": "2.0",
        "Flash_Channel_Count": channels, "Chip_No_Per_Channel": chips, "Die_No_Per_Chip": dies, "Plane_No_Per_Die": planes,
        "Block_No_Per_Plane": blocks, "Page_No_Per_Block": pages, "Page_Capacity": 4096,
    }
    for name, value in values.items():
        for element in device.iter(name):
            element.text = str(value)
    device.write(place / "device.xml")
    load = xml.parse(folder / "workload.xml")
    root = load.getroot()
    for scenario in list(root)[1:]:
        root.remove(scenario)
    scenario = root[0]
    for flow in list(scenario)[1:]:
        scenario.remove(flow)
    listed = lambda count: ",".join(map(str, range(count)))
    values = {
        "Device_Level_Data_Caching_Mode": "TURNED_OFF", "Channel_IDs": listed(channels), "Chip_IDs": listed(chips),
        "Die_IDs": listed(dies), "Plane_IDs": listed(planes), "Initial_Occupancy_Percentage": drive["occupancy"],
        "Working_Set_Percentage": drive["occupancy"], "Read_Percentage": read, "Address_Alignment_Unit": 8,
        "Average_Request_Size": 8, "Average_No_of_Reqs_in_Queue": depth, "Seed": 798, "Stop_Time": 0,
        "Total_Requests_To_Generate": requests,
    }
    for name, value in values.items():
        for element in scenario.iter(name):
            element.text = str(value)
    load.write(place / "load.xml")
    return [str(folder / "MQSim"), "-i", str(place / "device.xml"), "-w", str(place / "load.xml")]


def of_tailcut(drive, read, depth, place):
    state = "sequential" if read == 100 else "steady"
    share = drive["occupancy"] * 10_000
    settings = [
        f"device.preset={drive['preset']}", "device.geometry.ready_busy=chip", "device.ftl.allocation=static",
        "device.buffer.size=0B", f"precondition.state={state}", f"precondition.fill={share / 10_000}%",
        f"workload.read={read}%", f"workload.depth={depth}", "workload.pace=closed", f"workload.region_share={share / 10_000}%",
        f"run.requests={requests}", "run.ramp=0s", "run.duration=0s",
    ]
    command = [tailcut, "run", "--quiet", "--out", str(place / "results")]
    return command + [part for setting in settings for part in ("--set", setting)]


def seconds(command, place):
    """Processor time of a process that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


with tempfile.TemporaryDirectory() as folder_of_runs:
    place = pathlib.Path(folder_of_runs)
    print(f"| {requests:,} requests of 4 KiB | MQSim | tailcut | ratio |\n| --- | --- | --- | --- |")
    for name, drive, read, depth in CASES:
        theirs, ours = [], []
        for _ in range(rounds):
            theirs.append(seconds(of_mqsim(drive, read, depth, place), place))
            ours.append(seconds(of_tailcut(drive, read, depth, place), place))
        ratio = statistics.median(a / b for a, b in zip(theirs, ours))
        print(f"| {name} | {statistics.median(theirs):.2f} s | {statistics.median(ours):.2f} s | {ratio:.1f} |", flush=True)
PYTHON
