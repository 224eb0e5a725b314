#!/usr/bin/env bash
# What TLS costs the block server: the same work in the clear and encrypted, over TCP on loopback, and through nbdkit's memory
# plugin for comparison. Needs fio with its nbd engine, nbdcopy, nbdkit, openssl, and a release build of tailcut.
#
#     bench/tls.sh [ROUNDS [SECONDS]]        7 rounds of 2 s each by default
#
# Rounds are interleaved: each measures every arrangement once; of each, the median over the rounds is shown. "others" is
# the processor time that everything else on the machine took meanwhile, in cores, as a median: where it is not close to
# zero, the figures say little about a quiet machine.
set -euo pipefail
rounds=${1:-7} seconds=${2:-2}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
for tool in fio nbdcopy nbdkit openssl "$tailcut"; do
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

# An authority, and a server's certificate; libnbd looks for the authority in its home.
certificates="$place/.pki/libnbd"
mkdir -p "$certificates"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
    -keyout "$certificates/ca-key.pem" -out "$certificates/ca-cert.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
    -keyout "$certificates/server-key.pem" -out "$place/request" 2>/dev/null
openssl x509 -req -in "$place/request" -days 2 -CA "$certificates/ca-cert.pem" -CAkey "$certificates/ca-key.pem" \
    -CAcreateserial -extfile <(echo subjectAltName=DNS:localhost,IP:127.0.0.1) -out "$certificates/server-cert.pem" 2>/dev/null
export HOME="$place"

port=$((20000 + $$ % 20000))
declare -A uri
begin() { # NAME SCHEME COMMAND…
    "${@:3}" >"$place/log.$1" 2>&1 & pids+=($!)
    uri[$1]="$2://localhost:$port/"
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    nbdcopy "$place/content" "${uri[$1]}"
    port=$((port + 1))
}
head -c 256M /dev/urandom >"$place/content"
serve=("$tailcut" serve block --quiet --size 256MiB)
begin clear nbd "${serve[@]}" --tcp "127.0.0.1:$port"
begin tls nbds "${serve[@]}" --tcp "127.0.0.1:$port" --tls-certificates "$certificates"
begin nbdkit nbd nbdkit --foreground -i 127.0.0.1 -p "$port" memory 256M
begin nbdkit-tls nbds nbdkit --foreground -i 127.0.0.1 -p "$port" --tls=require --tls-certificates="$certificates" memory 256M

copy() { # MB/s
    local begin end
    begin=$(date +%s.%N)
    nbdcopy "${uri[$1]}" null:
    end=$(date +%s.%N)
    awk "BEGIN{print 268.435 / ($end - $begin)}"
}
reads() { # 4 KiB reads per second at a depth
    fio --name=nbd --ioengine=nbd --uri="${uri[$1]}" --size=256m --iodepth="$2" --rw=randread --bs=4k --time_based \
        --runtime="$seconds" --output-format=terse --output="$place/terse" >/dev/null
    grep '^3;' "$place/terse" | cut -d';' -f8
}
busy() { awk '/^cpu /{print $2+$3+$4+$7+$8}' /proc/stat; }
ours() {
    local sum=0 pid
    for pid in "${pids[@]}" $$; do
        sum=$((sum + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12+$13+$14+$15}')))
    done
    echo "$sum"
}

: >"$place/rows"
for ((round = 1; round <= rounds; round++)); do
    for case in "nbdcopy, MB/s|copy" "4 KiB reads/s, depth 32|reads|32" "4 KiB reads/s, depth 1|reads|1"; do
        IFS='|' read -r label measure depth <<<"$case"
        for server in clear tls nbdkit nbdkit-tls; do
            busy_before=$(busy) ours_before=$(ours) from=$(date +%s.%N)
            figure=$($measure "$server" $depth)
            others=$(awk "BEGIN{o=(($(busy) - $busy_before) - ($(ours) - $ours_before)) / $(getconf CLK_TCK) / ($(date +%s.%N) - $from); print o < 0 ? 0 : o}")
            echo "$label|$server|$figure|$others" >>"$place/rows"
        done
    done
done
median() { sort -g | awk '{v[NR]=$1} END{print v[int((NR+1)/2)]}'; }
printf '%-26s %-12s %10s %8s\n' "" server median others
while IFS='|' read -r label server; do
    rows=$(grep -F "$label|$server|" "$place/rows")
    printf '%-26s %-12s %10.0f %8.2f\n' "$label" "$server" "$(cut -d'|' -f3 <<<"$rows" | median)" "$(cut -d'|' -f4 <<<"$rows" | median)"
done < <(cut -d'|' -f1,2 "$place/rows" | awk '!seen[$0]++')
