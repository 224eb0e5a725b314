#!/usr/bin/env bash
# How far simulations of imported MQSim configurations are from MQSim itself: mean latency and requests per second of the same
# device and flows. Needs a release build of tailcut, python3, and MQSim's source tree with its program built (`make`) and its
# own ssdconfig.xml and workload.xml beside it.
#
#     bench/import-mqsim.sh MQSIM_FOLDER [PATTERN]        cases whose name contains PATTERN; all by default
#
# Each case changes some parameters of MQSim's own files. MQSim runs them, `tailcut import mqsim` translates them, `tailcut run`
# runs the translation. Where there is no such folder the script says so and ends with 0. KEEP=DIR keeps the files of every case.
set -euo pipefail
folder=${1:-} pattern=${2:-}
if [ -z "$folder" ] || ! [ -x "$folder/MQSim" ]; then
    echo "SKIPPED: there is no built MQSim in '${folder:-(no folder was given)}'"
    exit 0
fi
folder=$(realpath "$folder")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
command -v "$tailcut" >/dev/null || { echo "$tailcut is missing: cargo build --release" >&2; exit 1; }

exec python3 - "$folder" "$(realpath "$tailcut")" "$pattern" <<'PYTHON'
import json, os, pathlib, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

folder, tailcut, pattern = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]

# The whole map in DRAM and an eighth of the blocks: everything else of a device is MQSim's default file.
IDEAL = dict(Ideal_Mapping_Table="true", Transaction_Scheduling_Policy="OUT_OF_ORDER", Block_No_Per_Plane=256)
SMALL = dict(IDEAL, Flash_Channel_Count=4, Chip_No_Per_Channel=2, Die_No_Per_Chip=1, Plane_No_Per_Die=2,
             Block_No_Per_Plane=512, Page_No_Per_Block=64, Page_Capacity=4096)
AGED = dict(SMALL, Enabled_Preconditioning="true", Overprovisioning_Ratio=0.2, GC_Exec_Threshold=0.1)
TLC = dict(Flash_Technology="TLC", Page_Read_Latency_LSB=45000, Page_Read_Latency_CSB=60000, Page_Read_Latency_MSB=90000,
           Page_Program_Latency_LSB=400000, Page_Program_Latency_CSB=700000, Page_Program_Latency_MSB=1100000)
MLC = dict(Page_Read_Latency_LSB=40000, Page_Read_Latency_MSB=65000, Page_Program_Latency_LSB=500000,
           Page_Program_Latency_MSB=1300000)
DRAM = dict(Data_Cache_DRAM_Data_Rate=800, Data_Cache_DRAM_Data_Busrt_Size=4)


SECOND = 1_000_000_000


def flow(**changes):
    base = dict(Device_Level_Data_Caching_Mode="TURNED_OFF", Initial_Occupancy_Percentage=70, Working_Set_Percentage=70,
                Read_Percentage=100, Address_Alignment_Unit=16, Average_Request_Size=8, Average_No_of_Reqs_in_Queue=16,
                Stop_Time=SECOND, Total_Requests_To_Generate=0)
    base.update(changes)
    return base


def page(**changes):
    """A flow over pages of 4 KiB."""
    return flow(**dict(dict(Address_Alignment_Unit=8, Stop_Time=4 * SECOND), **changes))


ids = lambda first, count: ",".join(map(str, range(first, first + count)))
CASES = [
    ("shipped device, ideal map, 4 KiB reads, 16 at a time", IDEAL, [flow()]),
    ("likewise, 128 at a time", IDEAL, [flow(Average_No_of_Reqs_in_Queue=128)]),
    ("likewise, 8 KiB reads", IDEAL, [flow(Average_Request_Size=16)]),
    ("likewise, 64 KiB reads", IDEAL, [flow(Average_Request_Size=128, Address_Alignment_Unit=128)]),
    ("likewise, streaming 64 KiB reads", IDEAL, [flow(Average_Request_Size=128, Address_Alignment_Unit=128, Address_Distribution="STREAMING")]),
    ("likewise, 4 KiB writes without cache", IDEAL, [flow(Read_Percentage=0)]),
    ("likewise, half reads", IDEAL, [flow(Read_Percentage=50)]),
    ("likewise, 70 % reads, preconditioned", dict(IDEAL, Enabled_Preconditioning="true", Block_No_Per_Plane=768), [flow(Read_Percentage=70)]),
    ("likewise, write cache, writes", IDEAL, [flow(Device_Level_Data_Caching_Mode="WRITE_CACHE", Read_Percentage=0)]),
    ("likewise, write cache, half reads", IDEAL, [flow(Device_Level_Data_Caching_Mode="WRITE_CACHE", Read_Percentage=50)]),
    ("likewise, write cache in fast DRAM, writes", dict(IDEAL, **DRAM), [flow(Device_Level_Data_Caching_Mode="WRITE_CACHE", Read_Percentage=0)]),
    ("PWCD allocation, 16 KiB reads", dict(IDEAL, Plane_Allocation_Scheme="PWCD"), [flow(Average_Request_Size=32, Address_Alignment_Unit=32)]),
    ("PWCD allocation, 16 KiB writes", dict(IDEAL, Plane_Allocation_Scheme="PWCD"), [flow(Average_Request_Size=32, Address_Alignment_Unit=32, Read_Percentage=0)]),
    ("WDPC allocation, 32 KiB reads", dict(IDEAL, Plane_Allocation_Scheme="WDPC"), [flow(Average_Request_Size=64, Address_Alignment_Unit=64)]),
    ("TLC, 70 % reads", dict(IDEAL, **TLC), [flow(Read_Percentage=70)]),
    ("MLC with two times, 70 % reads", dict(IDEAL, **MLC), [flow(Read_Percentage=70)]),
    ("hot and cold, 70 % reads", IDEAL, [flow(Read_Percentage=70, Address_Distribution="RANDOM_HOTCOLD", Percentage_of_Hot_Region=20)]),
    ("bandwidth generator, 100 MB/s of reads", IDEAL, [flow(Synthetic_Generator_Type="BANDWIDTH", Bandwidth=100_000_000)]),
    ("bandwidth generator, 60 MB/s, half reads", IDEAL, [flow(Synthetic_Generator_Type="BANDWIDTH", Bandwidth=60_000_000, Read_Percentage=50)]),
    ("normal sizes, 16 ± 4 sectors, reads", IDEAL, [flow(Request_Size_Distribution="NORMAL", Average_Request_Size=32, Variance_Request_Size=8)]),
    ("unaligned 4 KiB reads", IDEAL, [flow(Generated_Aligned_Addresses="false")]),
    ("three flows, 100, 50 and 0 % reads", IDEAL, [flow(), flow(Read_Percentage=50, Average_No_of_Reqs_in_Queue=4), flow(Read_Percentage=0, Average_No_of_Reqs_in_Queue=2)]),
    ("priorities, urgent and low reads beside writes", dict(IDEAL, Transaction_Scheduling_Policy="PRIORITY_OUT_OF_ORDER"), [flow(Priority_Class="URGENT"), flow(Priority_Class="LOW"), flow(Read_Percentage=0, Priority_Class="LOW", Average_No_of_Reqs_in_Queue=8)]),
    ("two flows on four channels each", IDEAL, [flow(Channel_IDs=ids(0, 4)), flow(Channel_IDs=ids(4, 4), Read_Percentage=0)]),
    ("one flow on two channels", IDEAL, [flow(Channel_IDs=ids(0, 2), Average_No_of_Reqs_in_Queue=32)]),
    ("SATA, 20 us, 4 KiB reads", dict(IDEAL, HostInterface_Type="SATA", IO_Queue_Depth=32, SATA_Processing_Delay=20000), [flow(Average_No_of_Reqs_in_Queue=8)]),
    ("400 MT/s, one lane, 32 KiB reads", dict(IDEAL, Channel_Transfer_Rate=400, PCIe_Lane_Count=1), [flow(Average_Request_Size=64, Address_Alignment_Unit=64)]),
    ("small aged drive, greedy, writes", dict(AGED, GC_Block_Selection_Policy="GREEDY"), [page(Read_Percentage=0, Initial_Occupancy_Percentage=90, Working_Set_Percentage=100)]),
    ("small aged drive, RGA, writes", dict(AGED, GC_Block_Selection_Policy="RGA"), [page(Read_Percentage=0, Initial_Occupancy_Percentage=90, Working_Set_Percentage=100)]),
    ("small aged drive, FIFO, writes", dict(AGED, GC_Block_Selection_Policy="FIFO"), [page(Read_Percentage=0, Initial_Occupancy_Percentage=90, Working_Set_Percentage=100)]),
    ("small aged drive, greedy, half reads", dict(AGED, GC_Block_Selection_Policy="GREEDY"), [page(Read_Percentage=50, Initial_Occupancy_Percentage=90, Working_Set_Percentage=90)]),
    ("small aged drive, preemptible GC, half reads", dict(AGED, GC_Block_Selection_Policy="GREEDY", Preemptible_GC_Enabled="true"), [page(Read_Percentage=50, Initial_Occupancy_Percentage=90, Working_Set_Percentage=90)]),
    ("as shipped, scenario 1 (map misses)", {}, 0),
    ("as shipped, scenario 2 (map misses)", {}, 1),
]


def write_device(changes, place):
    device = xml.parse(folder / "ssdconfig.xml")
    for name, value in changes.items():
        found = list(device.iter(name))
        assert found, name
        for element in found:
            element.text = str(value)
    device.write(place / "device.xml")
    return {e.tag: e.text for e in device.iter()}


def write_load(flows, place, device):
    load = xml.parse(folder / "workload.xml")
    root = load.getroot()
    if isinstance(flows, int):
        for number, scenario in enumerate(list(root)):
            if number != flows:
                root.remove(scenario)
        for element in root.iter("Stop_Time"):
            element.text = str(SECOND)
    else:
        for scenario in list(root)[1:]:
            root.remove(scenario)
        scenario = root[0]
        template = scenario[0]
        for old in list(scenario):
            scenario.remove(old)
        whole = dict(Channel_IDs="Flash_Channel_Count", Chip_IDs="Chip_No_Per_Channel", Die_IDs="Die_No_Per_Chip", Plane_IDs="Plane_No_Per_Die")
        for number, changes in enumerate(flows):
            new = xml.fromstring(xml.tostring(template))
            changes = dict({key: ids(0, int(device[count])) for key, count in whole.items()}, Seed=798 + 97 * number, **changes) \
                if not set(whole) & set(changes) else \
                dict({key: ids(0, int(device[count])) for key, count in whole.items() if key not in changes}, Seed=798 + 97 * number, **changes)
            for key, value in changes.items():
                found = new.find(key)
                if found is None:
                    found = xml.SubElement(new, key)
                found.text = str(value)
            scenario.append(new)
    load.write(place / "load.xml")


def of_mqsim(place):
    result = place / "load_scenario_1.xml"
    failed = place / "mqsim.failed"
    if not result.exists() and not failed.exists():
        command = [str(folder / "MQSim"), "-i", "device.xml", "-w", "load.xml"]
        try:
            done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            failed.write_text("no end after 300 s")
            return None
        (place / "mqsim.txt").write_text(done.stdout)
    if not result.exists():
        return None
    flows = list(xml.parse(result).getroot().iter("Host.IO_Flow"))
    number = lambda flow, name: float(flow.find(name).text)
    count = sum(number(f, "Request_Count") for f in flows)
    mean = sum(number(f, "End_to_End_Request_Delay") * number(f, "Request_Count") for f in flows) / count
    # Its own IOPS divides by whole seconds, rounded down.
    stop = max(int(e.text) for e in xml.parse(place / "load.xml").getroot().iter("Stop_Time")) / SECOND
    return mean, count / stop


def of_tailcut(place):
    run = lambda *words: subprocess.run([tailcut, *words], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    done = run("import", "mqsim", "device.xml", "load.xml", "-o", "s.toml")
    (place / "import.txt").write_text(done.stderr)
    if done.returncode == 0:
        done = run("run", "s.toml", "--quiet", "--json", "report.json", "--out", "out")
        (place / "tailcut.txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"{place}: ended with {done.returncode}:\n{done.stderr[-3000:]}")
    report = json.loads((place / "report.json").read_text())
    return mean_and_rate(report)


def mean_and_rate(report):
    report = report.get("report", report)
    kinds = [kind for kind in report["kinds"] if kind["kind"] in ("read", "write")]
    count = sum(kind["requests"] for kind in kinds)
    mean = sum(kind["latency"]["mean_ns"] * kind["requests"] for kind in kinds) / count / 1000
    return mean, sum(kind["requests_per_s"] for kind in kinds)


print("| case | mean, MQSim | mean, tailcut | ratio | requests/s, MQSim | tailcut | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
for name, device, flows in CASES:
    if pattern not in name:
        continue
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        if os.environ.get("KEEP"):
            place = pathlib.Path(os.environ["KEEP"]) / "".join(c if c.isalnum() else "-" for c in name)
            place.mkdir(parents=True, exist_ok=True)
        write_load(flows, place, write_device(device, place))
        theirs = of_mqsim(place)
        if os.environ.get("ONLY_MQSIM"):
            print(name, theirs, flush=True)
            continue
        ours = of_tailcut(place)
        if theirs is None:
            print(f"| {name} | fails | {ours[0]:.0f} µs | | | {ours[1]:,.0f} | |", flush=True)
            continue
        print(f"| {name} | {theirs[0]:.0f} µs | {ours[0]:.0f} µs | {ours[0] / theirs[0]:.2f} | {theirs[1]:,.0f} | {ours[1]:,.0f} | {ours[1] / theirs[1]:.2f} |", flush=True)
PYTHON
