#!/bin/sh
# Runs the studies of the papers, and writes their claims to docs/results/papers.md, those that do not hold first.
#
#     bench/papers.sh [--quick]
#
# A run that was interrupted continues with the study at which it stopped: finished ones are kept in
# target/papers.json or target/papers--quick.json. Needs a release build of tailcut; TAILCUT names another program.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
tailcut=${TAILCUT:-$target/release/tailcut}
form=${1:-}
rows=$target/papers$form.json
page=docs/results/papers.md
studies=$("$tailcut" study list | grep -oE '^(sprinkler|pareset|swan|shin)-[^ ]+')
# Claims that fail without an explanation end it with 1, after its rows were written.
"$tailcut" study run $studies $form --json "$rows" --resume > "$target/papers$form.txt" || [ $? -eq 1 ]
"$tailcut" report "$rows" --markdown "$page"
echo >> "$page"
echo "Made by \`bench/papers.sh${form:+ $form}\` at commit $(git rev-parse --short=8 HEAD)." >> "$page"
