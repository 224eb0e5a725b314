#!/usr/bin/env python3
"""Tables and pictures of docs/results/real-drives.md.

    bench/real-drives.py random-writes.csv [--part curves,off,size] [--pictures DIR] [--time 20s] [--jobs N]

random-writes.csv has the measured rows, in the format of 'tailcut study run real-drives --measured'. Parts:

curves  measured and predicted percentiles of reads and writes over the offered rate, a picture for each drive
off     each mechanism switched off in turn, near what the drive sustains and saturated
size    the presets, an eighth of their drives, beside drives of full size

Uses target/release/tailcut, or TAILCUT.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("TAILCUT", "target/release/tailcut")
NAMES = {"s0": "pm9a3-960", "h0": "pe8110-960", "i0": "p5520-1920", "m0": "7450pro-960",
         "mp0": "7450max-800", "k4": "cm7r-3840"}

# A mechanism, and the keys that switch it off.
OFF = [
    ("suspension of programs", ["device.preempt.program=none"]),
    ("suspension of erases", ["device.preempt.erase=none"]),
    ("delay until a safe point", ["device.preempt.safe_point=0us"]),
    ("no suspension under backlog", ["device.preempt.under_backlog=true"]),
    ("bound on how long reads go first", ["device.schedule.write_patience=0us"]),
    ("pacing of writes", ["device.pacing.mode=none"]),
    ("pool of commands", ["device.queue.commands=65536"]),
    ("several erases at a time", ["device.superblock.erases=1"]),
    ("read times by page type", None),
    ("time of the controller", ["device.queue.firmware=0us"]),
    ("its time for programs", ["device.superblock.firmware=0us"]),
]


def study(points, sets=(), time="20s", scale=1, jobs=None, seeds=1):
    """{(drive, rate): {quantity: value}} of points, a list of (drive, rate)."""
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "points.csv")
        with open(file, "w", encoding="ascii") as out:
            out.write("drive,offered\n" + "".join(f"{drive},{rate}\n" for drive, rate in points))
        command = [PROGRAM, "study", "run", "real-drives", "--quiet", "--json", "-", "--points", file,
                   "--virtual-time", time, "--scale", str(scale), "--seeds", str(seeds)]
        for key in sets:
            command += ["--set", key]
        if jobs:
            command += ["--jobs", str(jobs)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{' '.join(command)}\n{run.stderr}")
    found = {}
    for row in json.loads(run.stdout)["rows"]:
        drive, _, rate = row["case"].partition(" ")
        if rate and row["measured"] is not None:
            found.setdefault((drive, int(rate)), {})[row["quantity"]] = row["measured"]
    return found


def measured_rows(file):
    """{drive: [row]} of the drives with presets, in the order of their rates."""
    columns = {"50p": "p50", "90p": "p90", "95p": "p95", "99p": "p99", "99p5": "p99.5", "99p9": "p99.9",
               "99p99": "p99.99"}
    drives = {}
    with open(file, encoding="utf-8") as text:
        for row in csv.DictReader(text):
            if row["drive"] not in NAMES:
                continue
            found = {"offered": int(row["offered"]), "writes/s": float(row["writes_per_s"])}
            for column, percentile in columns.items():
                for kind, name in (("r", "read"), ("w", "write")):
                    if row.get(f"{kind}_{column}"):
                        found[f"{name} {percentile}"] = float(row[f"{kind}_{column}"])
            drives.setdefault(row["drive"], []).append(found)
    for rows in drives.values():
        rows.sort(key=lambda row: row["offered"])
    return drives


def is_saturated(row):
    return row["writes/s"] < 0.97 * (row["offered"] - 5000) * 0.99


def short(micros):
    """Microseconds with two to four digits."""
    return f"{micros:.0f}"


def switched_off(drives, options):
    """What becomes of a percentile when a mechanism is switched off, as a factor."""
    quantities = ["read p50", "read p90", "read p99", "read p99.9", "read p99.99", "write p50", "write p99",
                  "write p99.9", "writes/s"]
    for which, pick in (("near what they sustain", lambda row: not is_saturated(row)), ("saturated", is_saturated)):
        points = [(drive, [row for row in rows if pick(row)][-1]["offered"]) for drive, rows in drives.items()]
        usual = study(points, time=options.time, jobs=options.jobs)
        print(f"\n### Drives {which}\n")
        for point in points:
            drive, rate = point
            print(f"`{NAMES[drive]}` at {rate:,}:\n")
            print("| switched off | " + " | ".join(quantities) + " |")
            print("| --- |" + " --- |" * len(quantities))
            row = next(row for row in drives[drive] if row["offered"] == rate)
            print("| (measured, µs) | " + " | ".join(short(row[q]) if q in row else "" for q in quantities) + " |")
            print("| (preset, µs) | "
                  + " | ".join(short(usual[point][q]) if q in usual[point] else "" for q in quantities) + " |")
            for name, keys in OFF:
                if keys is None:
                    mean = read_time(NAMES[drive])
                    keys = [f"device.timing.read={mean}us"]
                found = study([point], keys, options.time, jobs=options.jobs)[point]
                if found == usual[point]:
                    continue
                cells = []
                for quantity in quantities:
                    if quantity not in found or not usual[point].get(quantity):
                        cells.append("")
                        continue
                    factor = found[quantity] / usual[point][quantity]
                    cells.append("·" if abs(factor - 1) < 0.05 else f"{factor:.2f}")
                print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
            print()


def read_time(preset):
    """The mean time of a read of the three page types, in microseconds."""
    text = subprocess.run([PROGRAM, "run", "--set", f"device.preset={preset}", "--resolved"],
                          capture_output=True, text=True, check=True).stdout
    line = next(line for line in text.splitlines() if line.strip().startswith("read = ["))
    times = [part.strip().strip('"') for part in line.split("[")[1].split("]")[0].split(",")]
    return round(sum(micros(time) for time in times) / len(times), 3)


def micros(text):
    for unit, factor in (("us", 1), ("µs", 1), ("ms", 1000), ("ns", 0.001)):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * factor
    raise ValueError(text)


def sizes(drives, options):
    """Presets beside drives of full size: predicted ÷ predicted."""
    quantities = ["read p50", "read p90", "read p99", "read p99.9", "read p99.99", "write p50", "write p99",
                  "write p99.9", "writes/s"]
    print("\n| drive, rate | " + " | ".join(quantities) + " |\n| --- |" + " --- |" * len(quantities))
    for drive, rows in drives.items():
        below = [row for row in rows if not is_saturated(row)]
        point = (drive, below[len(below) // 2]["offered"])
        eighth = study([point], time=options.time)[point]
        other = study([point], time=options.time, seeds=1, jobs=1, scale=8)[point]
        cells = []
        for quantity in quantities:
            same = quantity in eighth and quantity in other
            cells.append(f"{eighth[quantity] / other[quantity]:.3f}" if same else "")
        print(f"| `{NAMES[drive]}` {point[1]:,} | " + " | ".join(cells) + " |", flush=True)


def curves(drives, options):
    """A picture for each drive: percentiles over the offered rate."""
    for drive, rows in drives.items():
        first, last = rows[0]["offered"], rows[-1]["offered"]
        knee = max(row["writes/s"] for row in rows)
        top = min(last, knee * 1.3)
        between = {round(first * (knee * 0.97 / first) ** (step / 9) / 1000) * 1000 for step in range(10)}
        rates = sorted({row["offered"] for row in rows} | between | {round(top / 1000) * 1000})
        found = study([(drive, rate) for rate in rates], time=options.time, jobs=options.jobs)
        values = {rate: found[drive, rate] for rate in rates}
        file = os.path.join(options.pictures, f"real-{NAMES[drive]}.svg")
        with open(file, "w", encoding="utf-8") as out:
            out.write(picture(NAMES[drive], rows, values, top))
        print(file, flush=True)


COLOURS = {"p50": "#3b82c4", "p99": "#2a9d6f", "p99.9": "#d98324", "p99.99": "#c0392b"}


def picture(name, rows, values, top):
    """An SVG with one panel of reads and one of writes; both axes logarithmic."""
    width, height, left, gap, base = 800, 330, 60, 70, 270
    panel = (width - left - gap - 20) // 2
    low, high = 5, 20000
    first = min(values)
    x_of = lambda rate: math.log(min(rate, top) / first) / math.log(top / first) * panel
    y_of = lambda us: base - (math.log(min(max(us, low), high) / low) / math.log(high / low)) * (base - 40)
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           f'font-size="11"><rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="{left}" y="16" font-size="13" font-weight="bold">{name}: measured (circles, fitted) and '
           'predicted (lines)</text>']
    for index, kind in enumerate(("read", "write")):
        x0 = left + index * (panel + gap)
        svg.append(f'<text x="{x0}" y="34">latency of {kind}s, µs</text>')
        for us in (10, 100, 1000, 10000):
            svg.append(f'<line x1="{x0}" x2="{x0 + panel}" y1="{y_of(us):.1f}" y2="{y_of(us):.1f}" stroke="#ddd"/>'
                       f'<text x="{x0 - 5}" y="{y_of(us) + 4:.1f}" text-anchor="end">{us}</text>')
        for rate in [row["offered"] for row in rows]:
            label = f"{min(rate, top) / 1000:.0f}k" + ("+" if rate > top else "")
            svg.append(f'<text x="{x0 + x_of(rate):.1f}" y="{base + 15}" text-anchor="middle">{label}</text>')
        svg.append(f'<text x="{x0 + panel / 2}" y="{base + 30}" text-anchor="middle">offered writes a second; '
                   '+ saturated</text>')
        for percentile, colour in COLOURS.items():
            quantity = f"{kind} {percentile}"
            points = [(x_of(rate), y_of(found[quantity])) for rate, found in values.items() if quantity in found]
            line = " ".join(f"{x0 + x:.1f},{y:.1f}" for x, y in points)
            svg.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            for row in rows:
                if quantity in row:
                    svg.append(f'<circle cx="{x0 + x_of(row["offered"]):.1f}" cy="{y_of(row[quantity]):.1f}" r="4" '
                               f'fill="{colour}" fill-opacity="0.35" stroke="{colour}"/>')
    for index, (percentile, colour) in enumerate(COLOURS.items()):
        x = left + index * 80
        svg.append(f'<rect x="{x}" y="{height - 18}" width="12" height="8" fill="{colour}"/>'
                   f'<text x="{x + 16}" y="{height - 10}">{percentile}</text>')
    return "\n".join(svg) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description="Tables and pictures of docs/results/real-drives.md.")
    parser.add_argument("measured")
    parser.add_argument("--part", default="curves,off,size")
    parser.add_argument("--pictures", default="docs/pictures")
    parser.add_argument("--time", default="20s")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--drive", help="only this drive, by its short name")
    options = parser.parse_args()
    drives = measured_rows(options.measured)
    if options.drive:
        drives = {options.drive: drives[options.drive]}
    parts = {"curves": curves, "off": switched_off, "size": sizes}
    for part in options.part.split(","):
        parts[part](drives, options)


if __name__ == "__main__":
    main()
