#!/usr/bin/env bash
# How quick the key-value server is, against memcached with as many threads: gets and sets of small items, chosen by a Zipf
# distribution, over unix sockets. Needs memcached (see bench/memcached) and a release build of tailcut.
#
#     bench/kv.sh [ROUNDS [SECONDS]]        7 rounds of 2 s each by default
#     MEMCACHED=memcached-1.6.45.tar.xz bench/kv.sh
#
# Servers with one thread and with two: memcached as it comes and with -R 200, ours in memory only, and ours with the same
# memory in front of plain emulated drives. Rounds are interleaved: each measures every server once. Figures are medians over
# the rounds, ratios medians of the rounds' ratios, to the one of both memcacheds that serves more. In 'full' there are more
# items than memory, and clients store what a get misses; otherwise all items fit.
set -euo pipefail
rounds=${1:-7} seconds=${2:-2}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
command -v "$tailcut" >/dev/null || { echo "$tailcut is missing" >&2; exit 1; }
read -r memcached name < <(bench/memcached)

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
# Starts a server of this name. Its process is in pid_NAME.
start() {
    local name=$1
    shift
    "$@" -s "$place/$name" >>"$place/log" 2>&1 &
    pids+=("$!")
    declare -g "pid_${name//-/_}=$!"
    until [ -S "$place/$name" ]; do kill -0 "${pids[@]}"; done
}
# Values of 100 bytes, of which this many fill twice the memory of a full server.
full=400000
kinds=(memcached r200 memory flash)
for threads in 1 2; do
    for memory in 256 32; do
        as=$threads-$memory
        start "memcached-$as" "$memcached" "${as_user[@]}" -m $memory -t $threads
        start "r200-$as" "$memcached" "${as_user[@]}" -m $memory -t $threads -R 200
        start "memory-$as" "$tailcut" serve kv --quiet --memory-only -m $memory -t $threads
        [ $memory = 32 ] || start "flash-$as" "$tailcut" serve kv --quiet -m $memory -t $threads
        for kind in "${kinds[@]}"; do
            [ -S "$place/$kind-$as" ] || continue
            items=100000
            [ $memory = 256 ] || items=$full
            "$tailcut" bench kv --unix "$place/$kind-$as" --items $items --load --time 0s --json "$place/loaded" >/dev/null
        done
    done
done

# Label, memory, arguments. The fourth is like memtier_benchmark's load: ten gets for each set.
cases=(
    "4 clients, depth 1|256|--clients 4 --depth 1"
    "4 clients, depth 32|256|--clients 4 --depth 32"
    "4 clients, depth 32, half sets|256|--clients 4 --depth 32 --gets 50"
    "16 clients, depth 1|256|--clients 16 --depth 1 --gets 91"
    "full, 4 clients, depth 32|32|--clients 4 --depth 32 --items $full --fill"
    "full, 16 clients, depth 1|32|--clients 16 --depth 1 --items $full --fill"
)
: >"$place/rows"
for ((round = 1; round <= rounds; round++)); do
    for case in "${cases[@]}"; do
        IFS='|' read -r label memory more <<<"$case"
        for threads in 1 2; do
            for kind in "${kinds[@]}"; do
                server=$kind-$threads-$memory pid="pid_${kind}_${threads}_$memory"
                [ -S "$place/$server" ] || continue
                # shellcheck disable=SC2086
                "$tailcut" bench kv --unix "$place/$server" --pid "${!pid}" --time "${seconds}s" --seed "$round" $more --json - >"$place/figures"
                figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$place/figures"; }
                hits=$(awk -v hits="$(figure hits)" -v gets="$(figure gets)" 'BEGIN { print 100 * hits / gets }')
                echo "$round|$label|$threads|$kind|$(figure commands_per_s)|$(figure commands_per_cpu_s)|$(figure p99_ns)|$hits" >>"$place/rows"
            done
        done
    done
done

"$tailcut" --version
echo "$name, as it comes and with -R 200; $rounds rounds of $seconds s; values of 100 bytes, Zipf 0.99, 90 % gets"
awk -F'|' -v rounds="$rounds" '
    function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j-1]; j--) { t = list[j]; list[j] = list[j-1]; list[j-1] = t }
        return n % 2 ? list[(n+1)/2] : (list[n/2] + list[n/2+1]) / 2
    }
    function rate_of(key,    r) { for (r = 1; r <= rounds; r++) values[r] = rate[key, r]; return median(values, rounds) }
    { key = $2 "|" $3 "|" $4; if (!(key in seen)) { seen[key] = ++count; keys[count] = key }
      rate[key, $1] = $5; work[key, $1] = $6; tail[key, $1] = $7; found[key, $1] = $8 }
    END {
        printf "%-31s %7s  %-10s %10s %7s %9s %7s %7s %6s\n", "load", "threads", "server", "commands/s", "ratio", "CPU each", "p99, us", "ratio", "hits"
        for (k = 1; k <= count; k++) {
            key = keys[k]; split(key, part, "|"); plain = part[1] "|" part[2] "|memcached"; r200 = part[1] "|" part[2] "|r200"
            base = rate_of(plain) >= rate_of(r200) ? plain : r200
            for (r = 1; r <= rounds; r++) {
                rates[r] = rate[key, r]; tails[r] = tail[key, r]; hits[r] = found[key, r]
                faster[r] = rates[r] / rate[base, r]; later[r] = tails[r] / tail[base, r]; cheaper[r] = work[base, r] / work[key, r]
            }
            printf "%-31s %7d  %-10s %10.0f %6.2fx %8.2fx %7.0f %6.2fx %5.1f%%\n", part[1], part[2], part[3], median(rates, rounds), median(faster, rounds), median(cheaper, rounds), median(tails, rounds) / 1000, median(later, rounds), median(hits, rounds)
        }
    }' "$place/rows"
