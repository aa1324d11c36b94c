#!/usr/bin/env python3
"""matrix.py [--locks A,B] [--scenarios A,B] SERVER...

Runs the suite on each server and prints one table in Markdown, lock × server: how many of a lock's cells were as the catalogue expects, and
which were not. SERVER is a binary (redis-server, /opt/valkey/bin/valkey-server), or an image with "image:" before it. A column is headed by
the make and version that the server itself reports. LOCKBENCH names the binary (lockbench). It exits with the highest code of a suite.
"""
import json
import os
import subprocess
import sys
import tempfile

LOCKS = "token,fenced,fair,handoff,rw-lease,redisson,semaphore,token-wait,token-wait-all,redlock"
SCENARIOS = "contended,pause-holder,kill-server,failover,failover-behind,clock-jump,eviction,cluster-slots,cluster-failover"


def suite(server, locks, scenarios):
    """Returns the stored suite of a server, and the exit code."""
    kind, flag = ("docker", "--image") if server.startswith("image:") else ("process", "--binary")
    with tempfile.TemporaryDirectory() as work:
        stored = os.path.join(work, "suite.json")
        code = subprocess.call([os.environ.get("LOCKBENCH", "lockbench"), "suite", "--server", kind, flag, server.removeprefix("image:"), "--locks", locks,
                                "--scenarios", scenarios, "--store", stored, "--out", work, "-q"], stdout=sys.stderr)
        if not os.path.exists(stored):
            sys.exit(f"matrix: {server}: no suite (exit {code})")
        with open(stored) as file:
            return json.load(file), code


def cell(cells):
    """Describes the cells of a lock on a server."""
    ran = [c for c in cells if c["verdict"] != "n/a"]
    odd = [f"{c['scenario']}: {c['observed']}" for c in ran if c["verdict"] != "pass"]
    return "; ".join([f"{len(ran) - len(odd)} of {len(ran)}"] + odd)


def main(args):
    chosen = {"--locks": LOCKS, "--scenarios": SCENARIOS}
    while len(args) > 1 and args[0] in chosen:
        chosen[args[0]], args = args[1], args[2:]
    if not args:
        sys.exit(__doc__)
    suites, codes = zip(*(suite(server, chosen["--locks"], chosen["--scenarios"]) for server in args))
    print("| lock |", " | ".join(s.get("product", "unknown") for s in suites), "|")
    print("|---|" + "---|" * len(suites))
    for lock in chosen["--locks"].split(","):
        print(f"| `{lock}` |", " | ".join(cell([c for c in s["cells"] if c["lock"] == lock]) for s in suites), "|")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
