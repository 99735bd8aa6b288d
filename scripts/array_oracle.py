"""Records what other libraries give for calls of every array operation.

usage: array_oracle.py [--audit] FOLDER [OPERATION…]

MLX on the CPU decides; where NumPy in higher precision says otherwise, the case
must be one of the departures that array_oracle/departures.py lists with their
reasons, else nothing is written. With --audit the disagreements are shown and
the rest is written. FOLDER gets a file per operation and index.json.
"""

import json
import pathlib
import sys

import mlx.core as mx

from array_oracle import elementwise, fused, indexing, linear, movement, odd, packed, products, reductions, sampling
from array_oracle.departures import DEPARTURES
from array_oracle.record import Recorder, quiet

FAMILIES = [elementwise, reductions, movement, indexing, products, linear, sampling, packed, fused, odd]


def names():
    """The names that the package has, per module: those that can be called, and the others."""
    modules = {"": mx, "linalg": mx.linalg, "fft": mx.fft, "random": mx.random, "fast": mx.fast}
    found = {}
    for name, module in modules.items():
        public = [n for n in dir(module) if not n.startswith("_")]
        found[name] = {n: "function" if callable(getattr(module, n)) and not isinstance(getattr(module, n), type)
                       else type(getattr(module, n)).__name__ for n in public}
    return found


def main():
    arguments = [a for a in sys.argv[1:] if a != "--audit"]
    if not arguments:
        raise SystemExit(__doc__)
    folder, only = pathlib.Path(arguments[0]), arguments[1:]
    mx.set_default_device(mx.cpu)
    recorder = Recorder()
    with quiet():
        for family in FAMILIES:
            family.record(recorder)
    if only:
        recorder.ops = {n: e for n, e in recorder.ops.items() if n in only}
    for line in recorder.disagreements:
        if not only or line[0].split("(")[0] in only:
            print("disagree", *[str(part).replace("\n", " ")[:200] for part in line], file=sys.stderr)
    if "--audit" in sys.argv:
        for (name, why), count in sorted(recorder.refusals.items()):
            print("refused", count, name, why.replace("\n", " "), file=sys.stderr)
    if recorder.disagreements and "--audit" not in sys.argv:
        raise SystemExit(f"{len(recorder.disagreements)} cases in which the libraries disagree")
    unused = [d.name for d in DEPARTURES if d.oracle != "skip" and not recorder.used.get(d.name)]
    if unused and not only:
        raise SystemExit(f"departures without a case: {', '.join(unused)}")
    folder.mkdir(parents=True, exist_ok=True)
    counts = recorder.write(folder)
    departures = [{"name": d.name, "ops": list(d.ops), "reason": d.reason, "cases": recorder.used.get(d.name, 0)}
                  for d in DEPARTURES if d.oracle != "skip"]
    index = {"mlx": mx.__version__, "names": names(), "cases": counts, "departures": departures}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"{sum(counts.values())} cases of {len(counts)} operations")


main()
