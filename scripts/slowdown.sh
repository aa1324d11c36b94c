#!/usr/bin/env bash
# slowdown.sh [TIMES] [LOCKBENCH]
#
# Shows that `bench --baseline` fails on a slowdown and on nothing else: stores a long bench of one lock, then compares it TIMES (10) times with
# the same lock and as often with the lock made 20 % slower. Prints one line for each comparison, and exits 0 when all of the first exit 0 and
# all of the second exit 2. With 10 it takes about twenty minutes (a slowdown is measured twice), and wants a machine that does nothing else.
# LOCKBENCH is a binary; without it the checkout is built. LOCK (token), SLOW (0.2) and RESULTS (a folder to keep the benches in) can be set in
# the environment.
set -euo pipefail

times=${1:-10}
binary=${2:-}
lock=${LOCK:-token}
slow=${SLOW:-0.2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results=${RESULTS:-$work}
mkdir -p "$results"
if [ -z "$binary" ]; then
  binary=$work/lockbench
  (cd "$(dirname "$0")/.." && go build -o "$binary" ./cmd/lockbench)
fi
bench=("$binary" bench --locks "$lock" --clients 1,8 --duration 5s --warmup 400ms --reps 20 --out "$results/runs" -q)

"${bench[@]}" --duration 45s --reps 180 --store "$results/base.json" >"$results/base.txt"
echo "baseline: $(sed -n 's/^round trip/round trip/p' "$results/base.txt")"

declare -A right=([same]=0 [slower]=0)
compare() { # compare NAME WANTED-EXIT-CODE FLAG...
  local name=$1 want=$2 begin=$SECONDS code=0 word=right
  shift 2
  "${bench[@]}" --baseline "$results/base.json" "$@" >"$results/$name.txt" 2>&1 || code=$?
  if [ "$code" = "$want" ]; then right[${name%-*}]=$((right[${name%-*}] + 1)); else word=WRONG; fi
  printf '%-12s exit %s, want %s  %s  %2d s  %s\n' "$name" "$code" "$want" "$word" $((SECONDS - begin)) \
    "$(awk '/×/ {at = $3 " " $4} !/\?/ && /^\* .*(worse|better)/ {for (i = 3; $i !~ /worse|better/; i++) delta = $i; printf "%s %s %s; ", at, $2, delta}' "$results/$name.txt")"
}
for i in $(seq "$times"); do
  compare "same-$i" 0
  compare "slower-$i" 2 --slow "$slow"
done
echo "the same lock: ${right[same]} of $times pass (exit 0); made slower by $slow: ${right[slower]} of $times fail (exit 2); $SECONDS s"
[ "${right[same]} ${right[slower]}" = "$times $times" ]
