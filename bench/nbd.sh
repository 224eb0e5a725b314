#!/usr/bin/env bash
# How quick the block server is, against the quickest forms of two others: nbdkit's memory plugin with one thread (-t 1; its
# default is 16 threads), and qemu-storage-daemon on a null-co node, which stores nothing and copies nothing. 4 KiB random reads
# and 128 KiB random writes over a unix socket, of 256 MiB that were written before. Needs fio with its nbd engine, nbdkit, qemu-storage-daemon, and a
# release build of tailcut.
#
#     bench/nbd.sh [ROUNDS [SECONDS]]        7 rounds of 2 s each by default
#
# Rounds are interleaved: each measures every arrangement once. Of each, the median over the rounds is shown, and the
# medians of the ratios to nbdkit and to qemu within a round. "cpu" is the processor time that the server took for a read, which
# other load on the machine disturbs less. "others" is the processor time that everything else on the machine took,
# in cores. A round in which that was more than QUIET (0.2) is disturbed and does not count; if fewer than three are
# left, all of them count, and the table says so.
set -euo pipefail
rounds=${1:-7} seconds=${2:-2} quiet=${QUIET:-0.2}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
for tool in fio nbdkit qemu-storage-daemon "$tailcut"; do
    command -v "$tool" >/dev/null || { echo "$tool is missing" >&2; exit 1; }
done

place=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$place"
}
trap finish EXIT

"$tailcut" serve block --quiet --size 256MiB --unix "$place/ours" >"$place/log" & pids+=($!)
"$tailcut" serve block --quiet --size 256MiB --unix "$place/spin" --busy-poll 200us >>"$place/log" & pids+=($!)
nbdkit --foreground -t 1 --unix "$place/nbdkit" memory 256M & pids+=($!)
qemu-storage-daemon --blockdev driver=null-co,node-name=null,size=268435456,read-zeroes=on \
    --nbd-server addr.type=unix,addr.path="$place/qemu" \
    --export type=nbd,id=null,node-name=null,name=,writable=on & pids+=($!)
nbdkit --version
qemu-storage-daemon --version | head -1

with_fio() { # SOCKET DEPTH MORE…
    fio --name=nbd --ioengine=nbd --uri="nbd+unix:///?socket=$place/$1" --size=256m --iodepth="$2" "${@:3}" \
        --output-format=terse --output="$place/terse" >/dev/null
}
for server in ours spin nbdkit qemu; do
    until [ -S "$place/$server" ]; do :; done
    with_fio "$server" 4 --rw=write --bs=1m
done

declare -A pid_of=([ours]=${pids[0]} [spin]=${pids[1]} [nbdkit]=${pids[2]} [qemu]=${pids[3]})

# Reads per second.
fio_reads() {
    with_fio "$1" "$2" --rw=randread --bs=4k --time_based --runtime="$seconds"
    grep '^3;' "$place/terse" | cut -d';' -f8
}
# Writes of 128 KiB per second.
fio_writes() {
    with_fio "$1" "$2" --rw=randwrite --bs=128k --time_based --runtime="$seconds"
    grep '^3;' "$place/terse" | cut -d';' -f49
}
our_reads() {
    "$tailcut" bench block --unix "$place/$1" --depth "$2" --time "${seconds}s" --json - |
        sed -n 's/.*"iops": *\([0-9.]*\).*/\1/p'
}

# Ticks of all processors that were not idle; ticks of our servers and of what ended.
busy() { awk '/^cpu /{print $2+$3+$4+$7+$8}' /proc/stat; }
ours() {
    local sum=0 pid
    for pid in "${pids[@]}" $$; do
        sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12+$13+$14+$15}')))
    done
    echo "$sum"
}

# Ticks of one process.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12+$13}'; }

# label, who measures, server, depth
cases=(
    "fio, depth 32|fio_reads|nbdkit|32" "fio, depth 32|fio_reads|qemu|32" "fio, depth 32|fio_reads|ours|32"
    "fio, depth 1|fio_reads|nbdkit|1" "fio, depth 1|fio_reads|qemu|1" "fio, depth 1|fio_reads|ours|1"
    "fio, depth 1, busy polling|fio_reads|spin|1"
    "fio, 128 KiB writes, depth 4|fio_writes|nbdkit|4" "fio, 128 KiB writes, depth 4|fio_writes|qemu|4"
    "fio, 128 KiB writes, depth 4|fio_writes|ours|4"
    "batches, depth 32|our_reads|nbdkit|32" "batches, depth 32|our_reads|qemu|32" "batches, depth 32|our_reads|ours|32"
)
: >"$place/rows"
for ((round = 1; round <= rounds; round++)); do
    for case in "${cases[@]}"; do
        IFS='|' read -r label measure server depth <<<"$case"
        busy_before=$(busy) ours_before=$(ours)
        server_before=$(ticks "${pid_of[$server]}")
        begin=$(date +%s.%N)
        reads=$($measure "$server" "$depth")
        end=$(date +%s.%N)
        others=$(awk "BEGIN{o=(($(busy) - $busy_before) - ($(ours) - $ours_before)) / $(getconf CLK_TCK) / ($end - $begin); print o < 0 ? 0 : o}")
        cpu=$(awk "BEGIN{print ($(ticks "${pid_of[$server]}") - $server_before) / $(getconf CLK_TCK) / ($reads * $seconds) * 1e6}")
        echo "$round|$label|$server|$reads|$others|$cpu" >>"$place/rows"
    done
done

awk -F'|' -v quiet="$quiet" -v rounds="$rounds" '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j-1]; j--) { t = list[j]; list[j] = list[j-1]; list[j-1] = t }
        return n % 2 ? list[(n+1)/2] : (list[n/2] + list[n/2+1]) / 2
    }
    { key = $2 "|" $3; if (!(key in seen)) { seen[key] = ++count; keys[count] = key }
      value[key, $1] = $4; cpu[key, $1] = $6; others[$1] = others[$1] > $5 ? others[$1] : $5 }
    END {
        for (r = 1; r <= rounds; r++) if (others[r] <= quiet) left++
        all = left < 3
        printf "%-28s %-8s %10s %10s %10s %9s  others %s\n", "4 KiB reads, 128 KiB writes", "server", "per second", "to nbdkit", "to qemu", "cpu", all ? "" : "(quiet rounds only)"
        for (c = 1; c <= count; c++) {
            split(keys[c], part, "|"); n = 0
            base = part[1] ~ /busy/ ? "fio, depth 1|" : part[1] "|"
            for (r = 1; r <= rounds; r++) if (all || others[r] <= quiet) {
                n++; list[n] = value[keys[c], r]; load[n] = others[r]; time[n] = cpu[keys[c], r]
                nbdkit[n] = list[n] / value[base "nbdkit", r]; qemu[n] = list[n] / value[base "qemu", r]
            }
            printf "%-28s %-8s %10.0f %9.2fx %9.2fx %6.1f us  %.2f\n", part[1], part[2], median(list, n), median(nbdkit, n), median(qemu, n), median(time, n), median(load, n)
        }
        if (all) printf "every round was disturbed by others (more than %s cores): all %d are shown\n", quiet, rounds
        else printf "%d of %d rounds counted\n", left, rounds
    }' "$place/rows"
