#!/usr/bin/env bash
# Searches many schedules of every correct lock of the kit's tests: none may raise an alarm. SCHEDULES sets how many for each, by default 10,000.
set -euo pipefail
cd "$(dirname "$0")/.."
LOCKBENCH_SOAK=${SCHEDULES:-10000} go test -count=1 -timeout 6h -run 'TestCorrectLocksStand' ./locktest
