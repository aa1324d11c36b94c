#!/usr/bin/env bash
# soak.sh [TIMES] [PACKAGE...]
#
# Runs the long forms of tests, which CI runs short: random histories against the definition, random
# faults in both worlds, searches of whole state spaces, every named bug ten times. TIMES (20000) is
# how many of each; it takes hours on two processors. Pictures of pages go to LOCKBENCH_PICTURES,
# the sheet of a blind sample of causes to LOCKBENCH_BLIND, if they name folders.
set -euo pipefail
cd "$(dirname "$0")/.."

times=${1:-20000}
shift || true
packages=("$@")
((${#packages[@]})) || packages=(./checker ./explain ./sim ./harness ./repro ./locktest ./report/page ./cmd/lockbench)

export LOCKBENCH_SOAK=$times
export LOCKBENCH_LARGEST=${LOCKBENCH_LARGEST:-30m} # for one exhaustive search
failed=()
for package in "${packages[@]}"; do
	echo "== $package, $times of each"
	nice go test -count=1 -timeout 12h "$package" || failed+=("$package")
done
((${#failed[@]} == 0)) || { echo "FAILED: ${failed[*]}" && exit 1; }
