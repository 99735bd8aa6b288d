"""Measures sorting and running sums beside NumPy and writes docs/bench/axis.json.

usage: bench_axis.py [ROUNDS]

A million f32 between -1 and 1, as one line and as a square along either axis. Each
engine has a process of its own, in turns; a figure is the least of all runs, a second
in each round. NumPy has one thread; its argsort is the stable one,
as ours is. `reference` is the evaluation that stands in where a kernel is missing.
"""

import json
import re
import subprocess
import sys

from measured import ROOT, machine, revision

OURS = ["cargo", "bench", "-q", "-p", "oneir-cpu", "--bench", "kernels", "--", "axis:"]
LINE = re.compile(r"axis: (.+), (reference|threads \d+) .*\(least ([\d.]+)\)")
NUMPY = """
import time
import numpy as np

def least(run):
    times, begin = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < 1 and len(times) < 200):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3

long = np.random.default_rng(1).random(1_000_000, dtype=np.float32) * 2 - 1
square = long.reshape(1000, 1000)
for shape, axis, x in [("1M", 0, long), ("1000² axis 0", 0, square), ("1000² axis 1", 1, square)]:
    print(f"sort {shape}: {least(lambda: np.sort(x, axis=axis))}")
    print(f"argsort {shape}: {least(lambda: np.argsort(x, axis=axis, kind='stable'))}")
    print(f"cumsum {shape}: {least(lambda: np.cumsum(x, axis=axis))}")
"""


def output(command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    best = {}

    def note(what, engine, ms):
        row = best.setdefault(what, {})
        row[engine] = min(float(ms), row.get(engine, float("inf")))

    for _ in range(rounds):
        for line in output([sys.executable, "-c", NUMPY]).splitlines():
            what, ms = line.split(": ")
            note(what, "NumPy", ms)
        for what, engine, ms in LINE.findall(output(OURS)):
            note(what, engine, ms)
    engines = ["NumPy", "reference", *sorted({e for row in best.values() for e in row if e.startswith("threads")})]
    rows = [{"what": what, **{f"{engine}, ms": row[engine] for engine in engines}} for what, row in best.items()]
    figures = {"machine": machine(), "revision": revision(), "command": f"scripts/bench_axis.py {rounds}", "rows": rows}
    (ROOT / "docs" / "bench" / "axis.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


main()
