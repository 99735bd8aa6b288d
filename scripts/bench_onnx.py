"""Times ONNX models against ONNX Runtime and writes docs/bench/onnx.json.

usage: bench_onnx.py ONEIR MODELS [--rounds N] [--threads 1,2] [--only TEXT]

ONEIR is the command of a release build, MODELS the folder `models` that
oracles.py fills. Run by a Python that has numpy and onnxruntime (1.32.0).

Both engines run in processes of their own, in turns, on the same inputs: each
round takes one of each, which loads, runs once, and then runs for a second. A
ratio is the median over the rounds of the ratio within a round.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from measured import ROOT, machine, revision

SILERO = {"input": ("f32", [1, 576]), "state": ("f32", [2, 1, 128]), "sr": ("rate", [])}
FRAME = {name: SILERO[name] for name in ("input", "state")}

# file below MODELS, inputs
MODELS = [
    ("basic-pitch/nmp.onnx", {"serving_default_input_2:0": ("f32", [1, 43844, 1])}),
    ("magika/model.onnx", {"bytes": ("byte", [1, 2048])}),
    ("silero-vad/silero_vad.onnx", SILERO),
    ("silero-vad/silero_vad_half.onnx", FRAME),
    ("silero-vad/silero_vad_16k_op15.onnx", SILERO),
    ("silero-vad/silero_vad_op18_ifless.onnx", SILERO),
    ("silero-vad/silero_vad_openvino_16k.onnx", FRAME),
    ("silero-vad/silero_vad_16k_sequence.onnx",
     {"input": ("f32", [155, 576]), "h": ("f32", [1, 1, 128]), "c": ("f32", [1, 1, 128])}),
    ("ppocr4/ch_PP-OCRv4_det_infer.onnx", {"x": ("f32", [1, 3, 352, 768])}),
    ("ppocr4/ch_PP-OCRv4_rec_infer.onnx", {"x": ("f32", [1, 3, 48, 320])}),
    ("ppocr4/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": ("f32", [1, 3, 48, 192])}),
    ("minilm-int8/model.onnx",
     {"input_ids": ("id", [1, 128]), "attention_mask": ("one", [1, 128]), "token_type_ids": ("zero", [1, 128])}),
    ("efficientnet-lite0/efficientnet_lite0.onnx", {"input": ("f32", [1, 3, 224, 224])}),
    ("mlp_digits.onnx", {"X": ("f32", [1, 64])}),
]


def arrays(inputs):
    import numpy as np

    rng = np.random.default_rng(7)
    make = {
        "f32": lambda shape: (rng.standard_normal(shape) * 0.1).astype(np.float32),
        "byte": lambda shape: rng.integers(0, 256, shape).astype(np.int32),
        "id": lambda shape: rng.integers(1000, 20000, shape),
        "one": lambda shape: np.ones(shape, np.int64),
        "zero": lambda shape: np.zeros(shape, np.int64),
        "rate": lambda shape: np.array(16000, np.int64),
    }
    return {name: make[kind](shape) for name, (kind, shape) in inputs.items()}


def memory(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def worker(model, inputs, threads):
    """ONNX Runtime in this process: what `oneir bench --json` says of the other."""
    import numpy as np
    import onnxruntime

    given = dict(np.load(inputs))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    before = memory("VmRSS")
    began = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    session.run(None, given)
    first = time.perf_counter()
    peak = memory("VmHWM")
    times = []
    while len(times) < 10 or (time.perf_counter() - first < 1 and len(times) < 2000):
        start = time.perf_counter()
        session.run(None, given)
        times.append(time.perf_counter() - start)
    print(json.dumps({"load_seconds": loaded - began, "first_run_seconds": first - loaded,
                      "steady_seconds": {"median": statistics.median(times)},
                      "memory_before_loading_bytes": before, "peak_memory_bytes": peak}))


def measured(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    time.sleep(0.05)
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("oneir")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    rows = []
    for path, inputs in MODELS:
        model = args.models / path
        if path == "mlp_digits.onnx":
            model = ROOT / "models" / path
        if args.only not in path:
            continue
        with tempfile.TemporaryDirectory() as folder:
            import numpy as np

            given = pathlib.Path(folder) / "inputs.npz"
            np.savez(given, **arrays(inputs))
            for threads in map(int, args.threads.split(",")):
                rounds = []
                for _ in range(args.rounds):
                    theirs = measured([sys.executable, __file__, "--worker", str(model), str(given), str(threads)])
                    ours = measured([args.oneir, "bench", str(model), "--inputs", str(given), "--json",
                                     "--threads", str(threads)])
                    rounds.append((theirs, ours))
                rows.append(row(pathlib.Path(path).stem if path != "magika/model.onnx" and "minilm" not in path
                                else path.split("/")[0], threads, rounds))
                print(json.dumps(rows[-1]), flush=True)
    if not args.only:
        figures = {"machine": machine(), "revision": revision(),
                   "command": f"scripts/bench_onnx.py ONEIR MODELS --rounds {args.rounds}", "rows": rows}
        (ROOT / "docs" / "bench" / "onnx.json").write_text(json.dumps(figures, indent=1) + "\n")


def row(name, threads, rounds):
    steady = [(a["steady_seconds"]["median"], b["steady_seconds"]["median"]) for a, b in rounds]
    above = [tuple((x["peak_memory_bytes"] - x["memory_before_loading_bytes"]) / 2**20 for x in pair) for pair in rounds]
    start = [tuple(1e3 * (x["load_seconds"] + x["first_run_seconds"]) for x in pair) for pair in rounds]
    median = lambda values: float(statistics.median(values))
    return {
        "model": name,
        "threads": str(threads),
        "ONNX Runtime, ms": median(a for a, _ in steady) * 1e3,
        "Oneir, ms": median(b for _, b in steady) * 1e3,
        "latency ratio": median(b / a for a, b in steady),
        "load and first run, ms": f"{median(a for a, _ in start):.0f} / {median(b for _, b in start):.0f}",
        "memory, MiB": f"{median(a for a, _ in above):.1f} / {median(b for _, b in above):.1f}",
        "memory ratio": median(b / max(a, 0.1) for a, b in above),
    }


if sys.argv[1:2] == ["--worker"]:
    worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    main()
