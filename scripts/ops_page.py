"""Writes which array operations are there and how many of their cases pass to docs/ops.md.

usage: ops_page.py [--check] ORACLES STATUS

ORACLES is the folder that oracles.py fills, and STATUS the file that the test
`oracle` of the crate array writes where ONEIR_ARRAY_STATUS names it. The names
are those of the package that array_oracle.txt pins. The counts go to
docs/ops.json, too. With --check nothing is written: a case that passed before
and does not now fails, and so does a page that does not show what the run gives.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ops.md"
KNOWN = ROOT / "docs" / "ops.json"

# Fewer cases than this say nothing.
ENOUGH = 5

# Operations that MLX lacks, or has as syntax.
BEYOND = {
    "index": "reads by integers, ranges, new axes, `...`, arrays and boolean masks",
    "at_set": "`x.at(…).set`", "at_add": "`x.at(…).add`", "at_subtract": "`x.at(…).subtract`",
    "at_multiply": "`x.at(…).multiply`", "at_divide": "`x.at(…).divide`", "at_minimum": "`x.at(…).minimum`",
    "at_maximum": "`x.at(…).maximum`", "nonzero": "", "isin": "", "quantile": "", "bincount": "", "interp": "",
}

# Names that are no operations on arrays, and what is here instead.
INSTEAD = [
    ("array ArrayAt ArrayIterator ArrayLike", "`Array`, `At`, `Items`"),
    ("newaxis", "`NewAxis`"),
    ("bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 Dtype", "`DType`"),
    ("DtypeCategory generic number integer signedinteger unsignedinteger inexact floating complexfloating issubdtype isdtype",
     "`DTypeKind`, `DType::class` and the questions beside it"),
    ("can_cast", "`promote`"),
    ("finfo iinfo", "`DType::finfo`, `DType::iinfo`"),
    ("e pi inf nan euler_gamma", "`std::f64::consts`, `f64::INFINITY`, `f64::NAN`"),
    ("Device DeviceType cpu gpu default_device set_default_device device_count device_info is_available", "`Device`, `Runtime`"),
    ("Stream StreamContext ThreadLocalStream stream new_stream new_thread_local_stream new_thread_unsafe_stream default_stream "
     "set_default_stream synchronize clear_streams", "`Device::on_new_stream`; reads wait by themselves"),
    ("eval async_eval", "`eval`, `async_eval`"),
    ("get_active_memory get_cache_memory get_peak_memory reset_peak_memory get_memory_limit set_memory_limit set_cache_limit "
     "set_wired_limit clear_cache get_array_buffer_size", "`memory`, `set_memory_limits`, `clear_cache`, `reset_peak_memory`"),
    ("PrintOptions printoptions get_printoptions set_printoptions", "the format of `Display`"),
    ("save savez savez_compressed save_safetensors save_gguf load", "the module `files`"),
    ("from_dlpack", "the crate's conversions"),
    ("grad value_and_grad vjp jvp vmap custom_function checkpoint", "functions of the same names (`transforms`)"),
    ("compile disable_compile enable_compile", "`Traced`; plans are cached without it"),
    ("export_function import_function exporter FunctionExporter export_to_dot", "the IR's text; ONNX files; `oneir inspect`"),
    ("distributed metal cuda fast.metal_kernel fast.cuda_kernel fast.precompiled_cuda_kernel", "back ends"),
    ("linalg fft random fast", "modules of the same names"),
    ("random.seed random.state", "`random::seed`, `random::state` and `set_state`"),
]


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def shown(counts):
    """Dtypes with how many of their cases pass: one number where all do."""
    return ", ".join(f"{dtype} {good}" if good == run else f"**{dtype} {good}/{run}**" for dtype, (good, run) in counts.items())


def total(counts):
    return sum(good for good, _ in counts.values()), sum(run for _, run in counts.values())


def state(counts):
    if counts is None or total(counts)[1] < ENOUGH:
        return "missing"
    good, run = total(counts)
    return "right" if good == run else "wrong"


def page(index, status):
    apart = {name for names, _ in INSTEAD for name in names.split()}
    modules = {module: [f"{module}.{name}" if module else name for name in names] for module, names in index["names"].items()}
    listed = {module: [n for n in names if n not in apart] for module, names in modules.items()}
    known = {name for names in modules.values() for name in names}
    listed["beyond"] = sorted(set(index["cases"]) - known | set(BEYOND))
    everything = [name for names in listed.values() for name in names]
    states = {name: state(status.get(name)) for name in everything}
    cases = [total(status.get(name) or {}) for name in everything]
    recorded = sum(index["cases"].values())
    lines = [
        "# Array operations", "",
        f"Written by `scripts/ops_page.py`: the names of MLX {index['mlx']}, and for each how many of the cases that",
        "`scripts/array_oracle.py` records pass on every device, by the dtype of the first operand. *Missing* is what is",
        f"not there, or has fewer than {ENOUGH} cases.", "",
        f"{recorded} cases are recorded; {sum(good for good, _ in cases)} of the {sum(run for _, run in cases)} that run pass. "
        + ", ".join(f"{sum(s == kind for s in states.values())} operations are {kind}" for kind in ("right", "wrong", "missing")) + ".",
    ]
    titles = {"": "mlx.core", "linalg": "mlx.core.linalg", "fft": "mlx.core.fft", "random": "mlx.core.random", "fast": "mlx.core.fast",
              "beyond": "Beyond MLX"}
    for module, names in listed.items():
        lines += ["", f"## {titles[module]}", ""]
        rows = []
        for name in names:
            counts = status.get(name) or {}
            good, run = total(counts)
            note = f" ({BEYOND[name]})" if BEYOND.get(name) else ""
            rows.append([f"`{name}`{note}", states[name], f"{good}/{run}" if counts else "", shown(counts)])
        lines += table(["operation", "state", "cases", "of these, by dtype"], rows)
    lines += ["", "## Where we differ from MLX on purpose", "",
              "In these cases NumPy decides, in f64 rounded once where it is about numbers. Of convolutions that is their",
        "definition, written out as sums over windows in `scripts/array_oracle/products.py`.", "",
              *table(["operations", "why", "cases"],
                     [[", ".join(f"`{n}`" for n in d["ops"]), d["reason"], d["cases"]] for d in index["departures"]])]
    lines += ["", "## Names that are no operations on arrays", "",
              *table(["in MLX", "here"], [[", ".join(f"`{n}`" for n in names.split()), here] for names, here in INSTEAD])]
    return "\n".join(lines) + "\n"


def regressions(before, status):
    """A line for each operation and dtype with fewer right cases, or more wrong ones, than before."""
    lines = []
    for name, counts in before.items():
        for dtype, (good, run) in (counts or {}).items():
            now, of = (status.get(name) or {}).get(dtype, (0, 0))
            if now < good and of >= run or of - now > run - good or status.get(name) is None:
                lines.append(f"{name} {dtype}: {now} of {of} cases pass, before {good} of {run}")
    return lines


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    index = json.loads((pathlib.Path(arguments[0]) / "array" / "index.json").read_text())
    status = {name: counts and {dtype: tuple(pair) for dtype, pair in counts.items()}
              for name, counts in json.loads(pathlib.Path(arguments[1]).read_text()).items()}
    text = page(index, status)
    rows = [f"{json.dumps(name)}: {json.dumps(counts)}" for name, counts in sorted(status.items())]
    known = "{\n" + ",\n".join(rows) + "\n}\n"
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        KNOWN.write_text(known)
        return
    if worse := regressions(json.loads(KNOWN.read_text()), status):
        raise SystemExit("\n".join(["cases that passed before do not pass:", *worse]))
    if (PAGE.read_text(), KNOWN.read_text()) != (text, known):
        raise SystemExit("docs/ops.md does not show what the cases give: write it with\n"
                         f"scripts/ops_page.py {arguments[0]} {arguments[1]}")


main()
