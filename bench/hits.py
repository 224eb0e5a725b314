#!/usr/bin/env python3
"""Which share of gets find their item in a full cache: the key-value server, memcached, and policies of CacheLib,
under production loads of CacheBench, whose misses are stored.

    bench/hits.py CONFIGURATIONS [--items N] [--commands N] [--threads N] [--flash]

CONFIGURATIONS is a folder with a folder for each load, or a tar archive that has such folders. Each load is scaled
to N items: its cache has as many bytes for each item as in the configuration, but a quarter of those of all items at
most. With --flash the cache is a quarter of that, in front of four times as much flash: tailcut on a file, and
memcached with extstore, with the bytes that each wrote to flash for each byte that clients sent.

A load is run twice: once to fill the cache, then measured. The policies run in this program, on values, keys (of the
mean length) and 32 bytes for each item, with operations of the same distributions: LRU; LRU 2Q, as CacheLib's MM2Q has it (30 %
hot, 30 % cold, and warm what was read while cold); TinyLFU, as its MMTinyLFU (2 % window; an item enters the rest
if it was asked for more often than the one that it would replace); and S3-FIFO as Yang and others have it (2023).

Needs a release build of tailcut (TAILCUT names another program) and memcached (see bench/memcached).
"""

import argparse, bisect, collections, itertools, json, os, pathlib, random, shutil, socket, subprocess, sys, tarfile
import tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OVERHEAD = 32


class Load:
    """A configuration of CacheBench, for the policies: as `tailcut bench kv --cachebench` reads it."""

    def __init__(self, folder, items):
        config = json.loads((folder / "config.json").read_text())
        test = config["test_config"]
        popularity, sizes = (json.loads((folder / test[name]).read_text()) for name in ("popDistFile", "valSizeDistFile"))
        self.folder, self.name, self.items = folder, folder.name, items
        self.bounds = [0, *itertools.accumulate(popularity["popularityBuckets"])]
        self.weights = list(itertools.accumulate(popularity["popularityWeights"]))
        self.sizes, probability = sizes["valSizeRange"], sizes["valSizeRangeProbability"]
        self.size_weights = list(itertools.accumulate(probability))
        self.mean = sum(size * weight for size, weight in zip(self.sizes, probability)) / sum(probability)
        self.lone = test["loneGetRatio"] / (test["loneGetRatio"] + test["getRatio"])
        key_weights, bounds = test["keySizeRangeProbability"], test["keySizeRange"]
        middles = [(first + last) / 2 for first, last in zip(bounds, bounds[1:])]
        self.key_bytes = int(sum(map(lambda middle, weight: max(middle, 14) * weight, middles, key_weights)) / sum(key_weights))
        keys = min(test["numKeys"], self.bounds[-1])
        scaled = config["cache_config"]["cacheSizeMB"] * 2**20 * items / keys
        self.cache = int(min(scaled, items * (self.mean + 64) / 4))

    def bytes_of(self, key):
        at = random.Random(key).random() * self.size_weights[-1]
        return self.sizes[bisect.bisect(self.size_weights, at)]

    def keys(self, count, seed):
        draw, lone = random.Random(seed), -seed << 40
        for bucket in draw.choices(range(len(self.weights)), cum_weights=self.weights, k=count):
            if draw.random() < self.lone:
                lone -= 1
                yield lone
                continue
            first, end = self.bounds[bucket], self.bounds[bucket + 1]
            yield int((first + int(draw.random() * (end - first))) / self.bounds[-1] * self.items)


class Lru:
    def __init__(self, capacity):
        self.capacity, self.used, self.items = capacity, 0, collections.OrderedDict()

    def get(self, key):
        if found := key in self.items:
            self.items.move_to_end(key)
        return found

    def put(self, key, size):
        self.items[key] = size
        self.used += size
        while self.used > self.capacity:
            self.used -= self.items.popitem(last=False)[1]


class TwoQueues:
    """MM2Q: new items are hot; those pushed out are cold; a cold one that is read becomes warm."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.hot, self.warm, self.cold = (collections.OrderedDict() for _ in range(3))
        self.used = {id(queue): 0 for queue in (self.hot, self.warm, self.cold)}

    def move(self, source, target, key):
        size = source.pop(key)
        self.used[id(source)] -= size
        target[key] = size
        self.used[id(target)] += size

    def balance(self):
        for queue, share in ((self.hot, 0.3), (self.warm, 0.4)):
            while self.used[id(queue)] > share * self.capacity:
                self.move(queue, self.cold, next(iter(queue)))
        while sum(self.used.values()) > self.capacity:
            queue = self.cold or self.hot or self.warm
            self.used[id(queue)] -= queue.popitem(last=False)[1]

    def get(self, key):
        for queue in (self.hot, self.warm):
            if key in queue:
                queue.move_to_end(key)
                return True
        if found := key in self.cold:
            self.move(self.cold, self.warm, key)
            self.balance()
        return found

    def put(self, key, size):
        self.hot[key] = size
        self.used[id(self.hot)] += size
        self.balance()


class TinyLfu:
    """MMTinyLFU: a window of recent items, from which they enter the main part if they are asked for more often than its
    oldest; counts, exact here, are halved as they grow old."""

    def __init__(self, capacity):
        self.window, self.main = Lru(capacity // 50), Lru(capacity - capacity // 50)
        self.counts, self.asked = collections.Counter(), 0

    def get(self, key):
        self.counts[key] += 1
        self.asked += 1
        if self.asked > 32 * (len(self.main.items) + 1000):
            self.asked //= 2
            self.counts = collections.Counter({key: count // 2 for key, count in self.counts.items() if count > 1})
        return self.main.get(key) or self.window.get(key)

    def put(self, key, size):
        self.window.items[key] = size
        self.window.used += size
        while self.window.used > self.window.capacity:
            oldest, size = self.window.items.popitem(last=False)
            self.window.used -= size
            room, victims = self.main.capacity - self.main.used, []
            for least, bytes_ in self.main.items.items():
                if room >= size or self.counts[least] >= self.counts[oldest]:
                    break
                victims.append(least)
                room += bytes_
            if room >= size:
                for victim in victims:
                    self.main.used -= self.main.items.pop(victim)
                self.main.items[oldest] = size
                self.main.used += size


class S3Fifo:
    """New items in a queue of a tenth; those read twice there, or evicted lately, are in the main queue, where a read
    item goes to the end. Remembers as many evicted keys as the main queue has items."""

    def __init__(self, capacity):
        self.capacity, self.used, self.heat = capacity, [0, 0], {}
        self.small, self.main, self.ghost = (collections.OrderedDict() for _ in range(3))

    def get(self, key):
        if found := key in self.heat:
            self.heat[key] = min(3, self.heat[key] + 1)
        return found

    def add(self, is_main, key, size):
        (self.main if is_main else self.small)[key] = size
        self.used[is_main] += size

    def put(self, key, size):
        self.heat[key] = 0
        self.add(self.ghost.pop(key, None) is not None, key, size)
        while sum(self.used) > self.capacity:
            is_main = bool(self.main) and self.used[0] <= 0.1 * self.capacity
            oldest, size = (self.main if is_main else self.small).popitem(last=False)
            self.used[is_main] -= size
            if is_main and self.heat[oldest]:
                self.heat[oldest] -= 1
                self.add(True, oldest, size)
            elif not is_main and self.heat[oldest] > 1:
                self.heat[oldest] = 0
                self.add(True, oldest, size)
            else:
                del self.heat[oldest]
                if not is_main:
                    self.ghost[oldest] = True
                    while len(self.ghost) > max(len(self.main), 1000):
                        self.ghost.popitem(last=False)


def hits_of(policy, load, commands):
    cache, sizes = policy(load.cache), {}
    for seed in (1, 2):
        found = 0
        for key in load.keys(commands, seed):
            if cache.get(key):
                found += 1
                continue
            size = sizes.get(key) or load.bytes_of(key)
            if key >= 0:
                sizes[key] = size
            cache.put(key, size + load.key_bytes + OVERHEAD)
    return found / commands


def statistics(path):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        line.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            text += line.recv(65536)
    fields = (row.split(" ", 2) for row in text.decode().splitlines() if row.startswith("STAT "))
    return {name: value for _, name, value in fields}


def measured(tailcut, command, load, arguments, work):
    """Hits of a server, and the bytes that it wrote to flash for each that clients sent. None if it fails."""
    path = work / "socket"
    path.unlink(missing_ok=True)
    with open(work / "log", "w") as log:
        server = subprocess.Popen([*map(str, command), "-s", str(path)], stdout=log, stderr=log)
        try:
            while not path.exists():
                if server.poll() is not None:
                    sys.exit((work / "log").read_text())
                time.sleep(0.05)
            for seed in ("1", "2"):
                before = statistics(path)
                bench = [tailcut, "bench", "kv", "--unix", path, "--cachebench", load.folder / "config.json", "--fill",
                         "--items", str(load.items), "--commands", str(arguments.commands), "--clients", "4",
                         "--depth", "4", "--seed", seed, "--json", work / "figures"]
                if subprocess.run(bench, stdout=subprocess.DEVNULL).returncode:
                    return None
            after = statistics(path)
        finally:
            server.terminate()
            server.wait()
    figures = json.loads((work / "figures").read_text())
    change = lambda name: int(after.get(name, 0)) - int(before.get(name, 0))
    return figures["hits"] / figures["gets"], change("extstore_bytes_written") / change("bytes_read")


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("configurations", type=pathlib.Path)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--commands", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--flash", action="store_true")
    arguments = parser.parse_args()
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    tailcut = shutil.which(os.environ.get("TAILCUT", f"{target}/release/tailcut"))
    if not tailcut:
        sys.exit("tailcut is missing: cargo build --release")
    memcached, name = subprocess.check_output([ROOT / "bench/memcached"], text=True).split(maxsplit=1)
    user = ["-u", "root"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        place = arguments.configurations
        if place.is_file():
            with tarfile.open(place) as archive:
                archive.extractall(work / "loads", filter="data")
            place = work / "loads"
        loads = sorted({file.parent for file in place.rglob("config.json") if "hit_ratio" in file.parts or file.parent.parent == place})
        print(f"{subprocess.check_output([tailcut, '--version'], text=True).strip()}, {name.strip()}, {arguments.threads} threads; "
              f"{arguments.items} items, {arguments.commands} commands\n")
        policies = {} if arguments.flash else {"LRU": Lru, "LRU 2Q": TwoQueues, "S3-FIFO": S3Fifo, "TinyLFU": TinyLfu}
        servers = ["tailcut", "memcached"]
        columns = [f"{server}{what}" for server in servers for what in (["", ", flash"] if arguments.flash else [""])]
        print(f"| load | mean value | memory | {' | '.join([*columns, *policies])} |")
        print(f"| --- |{' ---: |' * (2 + len(columns) + len(policies))}")
        for path in loads:
            load = Load(path, arguments.items)
            memory = load.cache >> (2 if arguments.flash else 0)
            megabytes = max(memory >> 20, 16 if max(load.sizes) > 1 << 20 else 4)
            flash = 4 * load.cache >> 20
            load.cache = megabytes << 20
            common = ["-m", megabytes, "-t", arguments.threads, "-I", "4m" if max(load.sizes) > 1 << 20 else "1m"]
            file = work / "flash"
            file.unlink(missing_ok=True)
            ours, theirs = [tailcut, "serve", "kv", "--quiet"], [memcached, *user]
            if arguments.flash:
                flash = max(flash, 128)
                with open(file, "wb") as made:
                    made.truncate(flash << 20)
                ours += ["--device", file, "--create"]
                theirs += ["-o", f"ext_path={work}/extstore:{flash}M,slab_automove=2"]
            else:
                ours += ["--memory-only"]
            cells = []
            for command in (ours, theirs):
                found = measured(tailcut, [*command, *common], load, arguments, work)
                shown = [f"{100 * found[0]:.1f} %", f"{found[1]:.2f}"] if found else ["fails", ""]
                cells += shown if arguments.flash else shown[:1]
            cells += [f"{100 * hits_of(policy, load, arguments.commands):.1f} %" for policy in policies.values()]
            print(f"| {load.name} | {load.mean:.0f} B | {megabytes} MiB | {' | '.join(cells)} |", flush=True)


main()
