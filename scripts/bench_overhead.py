"""Measures what recording and planning cost and writes docs/bench/overhead.json.

usage: bench_overhead.py [OPS]
"""

import json
import pathlib
import subprocess
import sys

from measured import ROOT, machine, revision

LIMITS = {"record": 1000.0, "plan": 5000.0, "plan_other_size": 500.0}
WHAT = {
    "record": "record one op",
    "lift": "lift one op",
    "plan": "passes and plan, per lifted op",
    "plan_other_size": "plan for another size (no pass runs), per op",
    "plan_lookup": "look a cached plan up, per op",
    "run": "run, per lifted op (4 x 4 floats)",
    "drop": "drop one node",
    "eager_total": "record, plan and run eagerly, per op",
}


def main():
    ops = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    command = ["cargo", "bench", "-q", "-p", "oneir-array", "--bench", "overhead", "--", ops]
    best = {}
    for _ in range(3):
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        run = json.loads(out.strip().splitlines()[-1])
        for name in WHAT:
            best[name] = min(run[f"{name}_ns_per_op"], best.get(name, float("inf")))
    rows = [{"what": text, "ns": best[name], "goal": str(int(LIMITS[name])) if name in LIMITS else ""}
            for name, text in WHAT.items()]
    figures = {"machine": machine(), "revision": revision(), "command": "scripts/bench_overhead.py " + ops, "rows": rows}
    (ROOT / "docs" / "bench").mkdir(parents=True, exist_ok=True)
    (ROOT / "docs" / "bench" / "overhead.json").write_text(json.dumps(figures, indent=1) + "\n")


main()
