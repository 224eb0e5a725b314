#!/usr/bin/env bash
# How quick the key-value server is (with one thread, and with two) when its items do not fit memory, against memcached with extstore: gets and sets of items of 1 KiB
# and 4 KiB, chosen by a Zipf distribution, four times as many as there is memory for, over unix sockets, with files in one folder. Needs
# memcached and a release build of tailcut.
#
#     bench/kv-flash.sh [ROUNDS [SECONDS [FOLDER]]]        5 rounds of 3 s each in the temporary folder by default
#
# The disk below the folder must be one that is not throttled: many virtual ones are as soon as a burst of some ten thousand requests is spent, and then that is what is measured. Where there is no
# other, a file system on a loop device over a file in memory will do (14 GB: fallocate -l 13G /dev/shm/disk; losetup --direct-io=on -f --show /dev/shm/disk; mkfs.ext4, mount).
#
# Ours reads and writes its file past the page cache (O_DIRECT); extstore cannot, and would have all of its file in memory on a machine with enough of it.
# So each server is confined to twice its memory for items, page cache included, by a control group, where the system permits that (root);
# where not, it says so. As it comes, extstore gives up three items of four of such a load: its items on flash have heads in memory, whose size class gets pages too slowly, and its writer sleeps up to a
# second. So memcached moves pages at once (slab_automove=2) and sleeps a millisecond (ext_max_sleep), is loaded by one client that waits for each answer, and what it has lost is stored again until
# it holds nearly all; how many gets find their item is shown. Rounds are interleaved: each measures every arrangement once. Of each, the medians over the rounds are shown. What a get does not
# find is stored. The shape of the load is clients, and commands under way of each.
set -euo pipefail
rounds=${1:-5} seconds=${2:-3} folder=${3:-${TMPDIR:-/tmp}}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
PATH="$PATH:/usr/sbin"
for tool in "$tailcut"; do
    command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 1; }
done

read -r memcached name < <(bench/memcached)
place=$(mktemp -d "$folder/kv-flash.XXXXXX")
pids=() groups=()
finish() {
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait
    for group in "${groups[@]}"; do rmdir "$group"; done
    rm -rf "$place"
}
trap finish EXIT

# Makes a control group with so many bytes of memory, and says where; nothing where that is not permitted.
confinement() {
    local group limit
    for group in "/sys/fs/cgroup/memory/$1" "/sys/fs/cgroup/$1"; do
        mkdir "$group" 2>/dev/null || continue
        for limit in "$group/memory.limit_in_bytes" "$group/memory.max"; do
            { echo "$2" >"$limit"; } 2>/dev/null && echo "$group" && return
        done
        rmdir "$group"
    done
}

# Starts a server of this name, confined. Its process is in $server.
start() {
    local name=$1 group
    shift
    group=$(confinement "kv-flash-$$-$name" $((2 * megabytes << 20)))
    [ -n "$group" ] || echo "$name is not confined: what it reads may be in the page cache" >&2
    [ -z "$group" ] || groups+=("$group")
    (
        [ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"
        exec "$@" >>"$place/log" 2>&1
    ) &
    server=$!
    pids+=("$server")
}

# A figure of the last measurement.
figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$place/figures"; }

as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(-u root)
megabytes=128
servers=(extstore ours threads)
for size in 1024 4096; do
    fallocate -l 2G "$place/ours$size.flash"
    fallocate -l 2G "$place/threads$size.flash"
    start "extstore$size" "$memcached" "${as_user[@]}" -m "$megabytes" -s "$place/extstore$size" -o "ext_path=$place/extstore$size.flash:2G,slab_automove=2,ext_max_sleep=1000"
    declare "pid_extstore$size=$server"
    start "ours$size" "$tailcut" serve kv --quiet --device "$place/ours$size.flash" -m "$megabytes" -s "$place/ours$size"
    declare "pid_ours$size=$server"
    start "threads$size" "$tailcut" serve kv --quiet --device "$place/threads$size.flash" -m "$megabytes" -t 2 -s "$place/threads$size"
    declare "pid_threads$size=$server"
    items=$((4 * megabytes * 1024 * 1024 / (size + 70)))
    for name in "${servers[@]}"; do
        until [ -S "$place/$name$size" ]; do kill -0 "${pids[@]}"; done
        load=--load
        for pass in 1 2 3 4 5 6 7 8 9; do
            # Again for what was refused or given up while there was no room in memory.
            "$tailcut" bench kv --unix "$place/$name$size" --items "$items" --value "$size" $load --fill --gets 100 --clients 1 --seed "10$pass" --time "${seconds}s" --json - >"$place/figures"
            awk -v hits="$(figure hits)" -v gets="$(figure gets)" 'BEGIN { exit hits < 0.998 * gets }' && break
            load=
        done
    done
done

: >"$place/rows"
for ((round = 1; round <= rounds; round++)); do
    for size in 1024 4096; do
        items=$((4 * megabytes * 1024 * 1024 / (size + 70)))
        for shape in "4 32" "32 1"; do for gets in 90 50; do
            for name in "${servers[@]}"; do
                pid="pid_$name$size"
                measure() {
                    "$tailcut" bench kv --unix "$place/$name$size" --items "$items" --value "$size" --gets "$gets" --fill --clients "${shape% *}" --depth "${shape#* }" \
                        --pid "${!pid}" --time "${seconds}s" --seed "$round" --json - >"$place/figures"
                }
                # A server that answers something else than it was asked for ends a measurement: which one, is said, and it is measured again.
                tries=1
                until measure; do
                    echo "$name, $size bytes, $shape, $gets % gets, round $round: not measured, see above" >&2
                    ((tries++ < 3)) || exit 1
                done
                hits=$(awk -v hits="$(figure hits)" -v gets="$(figure gets)" 'BEGIN { print 100 * hits / gets }')
                echo "$round|$size, $shape|$gets|$name|$(figure commands_per_s)|$(figure commands_per_cpu_s)|$(figure get_p999_ns)|$hits" >>"$place/rows"
            done
        done; done
    done
done

"$tailcut" --version
echo "extstore of $name; $rounds rounds of $seconds s"
awk -F'|' -v rounds="$rounds" '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j-1]; j--) { t = list[j]; list[j] = list[j-1]; list[j-1] = t }
        return n % 2 ? list[(n+1)/2] : (list[n/2] + list[n/2+1]) / 2
    }
    { key = $2 "|" $3 "|" $4; if (!(key in seen)) { seen[key] = ++count; keys[count] = key }
      rate[key, $1] = $5; work[key, $1] = $6; tail[key, $1] = $7; found[key, $1] = $8 }
    END {
        printf "%-12s %-6s %-10s %8s %12s %14s %12s %12s %16s\n", "bytes, shape", "gets", "server", "hits", "commands/s", "per CPU s", "to extstore", "get p99.9, us", "50/50 to 90/10"
        for (k = 1; k <= count; k++) {
            key = keys[k]; split(key, part, "|")
            base = part[1] "|" part[2] "|extstore"; light = part[1] "|90|" part[3]
            for (r = 1; r <= rounds; r++) {
                rates[r] = rate[key, r]; works[r] = work[key, r]; tails[r] = tail[key, r]; hits[r] = found[key, r]
                more[r] = works[r] / work[base, r]; worse[r] = tails[r] / tail[light, r]
            }
            printf "%-12s %-6s %-10s %7.1f%% %12.0f %14.0f %11.2fx %13.1f %15.2fx\n", part[1], part[2] "%", part[3], median(hits, rounds), median(rates, rounds), median(works, rounds), median(more, rounds), median(tails, rounds) / 1000, median(worse, rounds)
        }
    }' "$place/rows"
