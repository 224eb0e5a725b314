#!/bin/sh
# Runs the studies of the papers one by one, and writes their claims to docs/results/papers.md, those that do not
# hold first.
#
#     bench/papers.sh [--quick]
#
# The rows of each study that has ended are kept in target/papers, by commit and form: a run that was interrupted
# goes on with the next study. Needs a release build of tailcut from the commit that is checked out; TAILCUT names
# another program.
set -eu
cd "$(dirname "$0")/.."
tailcut=${TAILCUT:-${CARGO_TARGET_DIR:-target}/release/tailcut}
form=${1:-}
commit=$(git rev-parse --short=8 HEAD)
rows=${CARGO_TARGET_DIR:-target}/papers/$commit$form
page=docs/results/papers.md
mkdir -p "$rows"
for study in $("$tailcut" study list | grep -E '^(sprinkler|pareset|swan|shin)-'); do
    [ ! -s "$rows/$study.json" ] || continue
    # Claims that fail without an explanation end it with 1, after its rows were written.
    "$tailcut" study run "$study" $form --quiet --json "$rows/$study.part" > "$rows/$study.txt" || [ -s "$rows/$study.part" ]
    mv "$rows/$study.part" "$rows/$study.json"
done
"$tailcut" report "$rows" --markdown "$page"
echo >> "$page"
echo "Made by \`bench/papers.sh${form:+ $form}\` at commit $commit." >> "$page"
