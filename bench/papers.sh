#!/bin/sh
# Runs all studies of the papers and writes their claims to docs/results/papers.md, those that do not hold first.
#
#   bench/papers.sh [TAILCUT] [--quick]
#
# TAILCUT is the program, by default target/release/tailcut, built from the commit that is checked out.
set -eu
cd "$(dirname "$0")/.."
tailcut=target/release/tailcut
form=
for argument in "$@"; do
    case $argument in
        --quick) form=--quick ;;
        *) tailcut=$argument ;;
    esac
done
page=docs/results/papers.md
rows=$(mktemp -d)/rows.json
commit=$(git rev-parse --short=8 HEAD)
# Claims without an explanation end it with 1, after everything has been written.
"$tailcut" study run --all $form --json "$rows" > "${rows%.json}.txt" || [ -s "$rows" ]
"$tailcut" report "$rows" --markdown "$page"
printf '\nMade by `bench/papers.sh %s` at commit %s.\n' "$form" "$commit" >> "$page"
echo "rows: $rows"
