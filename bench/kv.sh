#!/usr/bin/env bash
# How quick the key-value server is, against memcached with as many threads: gets and sets of small items, chosen by a Zipf
# distribution, over unix sockets. Needs memcached and a release build of tailcut.
#
#     bench/kv.sh [ROUNDS [SECONDS]]        7 rounds of 2 s each by default
#
# Servers with one thread and with two: memcached, ours in memory only, and ours with the same memory in front of plain emulated
# drives. Rounds are interleaved: each measures every arrangement once. Of each, the medians over the rounds are shown:
# commands per second, and the latency below which 99 of 100 were. All items fit the memory of all of them.
set -euo pipefail
rounds=${1:-7} seconds=${2:-2}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
PATH="$PATH:/usr/sbin"
for tool in memcached "$tailcut"; do
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

as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(-u root)
servers=()
for threads in 1 2; do
    memcached "${as_user[@]}" -m 256 -t $threads -s "$place/memcached-$threads" & pids+=($!)
    "$tailcut" serve kv --quiet --memory-only -m 256 -t $threads --pin -s "$place/memory-$threads" >>"$place/log" 2>&1 & pids+=($!)
    "$tailcut" serve kv --quiet -m 256 -t $threads --pin -s "$place/flash-$threads" >>"$place/log" 2>&1 & pids+=($!)
    servers+=("memcached-$threads" "memory-$threads" "flash-$threads")
done
for server in "${servers[@]}"; do
    until [ -S "$place/$server" ]; do kill -0 "${pids[@]}"; done
    "$tailcut" bench kv --unix "$place/$server" --load --time 0s --json "$place/loaded" >/dev/null
done

# label, server, further arguments
cases=()
for server in "${servers[@]}"; do
    cases+=("4 clients, depth 1, 90 % gets|$server|--clients 4 --depth 1")
    cases+=("4 clients, depth 32, 90 % gets|$server|--clients 4 --depth 32")
    cases+=("4 clients, depth 32, 50 % gets|$server|--clients 4 --depth 32 --gets 50")
    cases+=("32 clients, depth 1, 90 % gets|$server|--clients 32 --depth 1")
done
: >"$place/rows"
for ((round = 1; round <= rounds; round++)); do
    for case in "${cases[@]}"; do
        IFS='|' read -r label server more <<<"$case"
        # shellcheck disable=SC2086
        "$tailcut" bench kv --unix "$place/$server" --time "${seconds}s" --seed "$round" $more --json - >"$place/figures"
        figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$place/figures"; }
        echo "$round|$label|$server|$(figure commands_per_s)|$(figure p99_ns)" >>"$place/rows"
    done
done

awk -F'|' -v rounds="$rounds" '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j-1]; j--) { t = list[j]; list[j] = list[j-1]; list[j-1] = t }
        return n % 2 ? list[(n+1)/2] : (list[n/2] + list[n/2+1]) / 2
    }
    { key = $2 "|" $3; if (!(key in seen)) { seen[key] = ++count; keys[count] = key }
      if (!($2 in known)) { known[$2] = 1; labels[++kinds] = $2 }
      rate[key, $1] = $4; tail[key, $1] = $5 }
    END {
        split("memcached-1 memory-1 flash-1 memcached-2 memory-2 flash-2", servers, " ")
        printf "%-32s %-12s %12s %12s %12s %12s\n", "100 bytes, Zipf 0.99", "server", "commands/s", "to memcached", "p99, us", "to memcached"
        for (k = 1; k <= kinds; k++) for (s = 1; s <= 6; s++) {
            key = labels[k] "|" servers[s]; base = labels[k] "|memcached-" (s <= 3 ? 1 : 2)
            for (r = 1; r <= rounds; r++) {
                rates[r] = rate[key, r]; tails[r] = tail[key, r]
                faster[r] = rates[r] / rate[base, r]; later[r] = tails[r] / tail[base, r]
            }
            printf "%-32s %-12s %12.0f %11.2fx %12.1f %11.2fx\n", labels[k], servers[s], median(rates, rounds), median(faster, rounds), median(tails, rounds) / 1000, median(later, rounds)
        }
    }' "$place/rows"
