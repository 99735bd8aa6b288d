"""Runs a case through the libraries, decides which of them is right, and keeps the result."""

import contextlib
import hashlib
import json
import struct
import warnings

import mlx.core as mx
import numpy as np

from array_oracle.compare import agrees, rule_for
from array_oracle.departures import DEPARTURES
from array_oracle.values import FLOATS, MLX, NUMPY, D, Given, from_mlx, name_of, to_mlx

FORMAT = {"bool": "BOOL", "u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64", "i8": "I8", "i16": "I16",
          "i32": "I32", "i64": "I64", "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64", "complex64": "C64"}


class Refused(Exception):
    """The reference says that the arguments make no sense."""


class Unknown(Exception):
    """The reference does not say."""


class Case:
    """One call: the arguments that were given, the operands among them, and what came out."""

    def __init__(self, op, args, given):
        self.op, self.args, self.given = op, args, given
        self.oracle, self.outputs, self.error, self.departure, self.scale = None, None, False, None, None

    @property
    def dtypes(self):
        return [g.dtype for g in self.given]

    @property
    def dtype(self):
        return self.given[0].dtype if self.given else next((a.name for a in self.args if isinstance(a, D)), "none")

    def shown(self):
        return f"{self.op}({json.dumps(written(self.args, []))}) of " + ", ".join(
            f"{g.dtype}{g.shape} {g.layout}" for g in self.given)


def walk(args, array, dtype):
    """The arguments with operands and dtypes replaced."""
    if isinstance(args, Given):
        return array(args)
    if isinstance(args, D):
        return dtype(args.name)
    if isinstance(args, (list, tuple)):
        return [walk(a, array, dtype) for a in args]
    return args


def operands(args, into):
    if isinstance(args, Given):
        into.append(args)
    elif isinstance(args, (list, tuple)):
        for a in args:
            operands(a, into)
    return into


def written(args, given):
    """The arguments as JSON: operands are "@0", "@1", …, and numbers that JSON lacks are texts."""
    def array(g):
        given.append(g)
        return f"@{len(given) - 1}"

    def number(a):
        if isinstance(a, list):
            return [number(x) for x in a]
        if isinstance(a, float) and not np.isfinite(a):
            return repr(a)
        return a
    return number(walk(args, array, lambda name: name))


def listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


class Recorder:
    """All cases of all operations."""

    def __init__(self):
        self.ops, self.disagreements, self.used, self.refusals = {}, [], {}, {}

    def op(self, name, compare, kind="values"):
        """Cases of an operation are compared so."""
        self.ops.setdefault(name, {"compare": compare, "kind": kind, "cases": []})

    def case(self, name, args, mlx=None, ref=None, scale=None, kind=None, departure=None):
        """Records one call. `mlx` and `ref` take the arguments; `ref` gives numbers that may be wider than the result."""
        entry = self.ops[name]
        case = Case(name, args, operands(args, []))
        case.kind = kind
        with quiet():
            ours = attempt(mlx, walk(args, lambda g: to_mlx(g.array), lambda n: MLX[n]), from_mlx) if mlx else None
            theirs = attempt(ref, walk(args, lambda g: g.array, lambda n: NUMPY[n]), np.asarray) if ref else None
            if callable(scale):
                scale = float(scale(*walk(args, lambda g: g.array, lambda n: NUMPY[n])))
        case.scale, case.departure = scale, departure
        if departure:
            self.used[departure] = self.used.get(departure, 0) + 1
        self.settle(case, entry, ours, theirs)
        if case.oracle:
            entry["cases"].append(case)

    def settle(self, case, entry, ours, theirs):
        departure = next((d for d in DEPARTURES if d.holds(case)), None)
        if departure and departure.oracle == "skip":
            return
        if departure and departure.oracle == "error":
            case.oracle, case.error, case.departure = departure.by, True, departure.name
            self.used[departure.name] = self.used.get(departure.name, 0) + 1
            return
        if isinstance(theirs, Unknown):
            theirs = None
        if ours is None and theirs is None:
            self.disagreements.append((case.shown(), "no library gives a result"))
            return
        if ours is None or theirs is None:
            result, oracle = (theirs, "numpy") if ours is None else (ours, "mlx")
            if isinstance(result, Exception):
                self.refusals[(case.op, str(result)[:110])] = self.refusals.get((case.op, str(result)[:110]), 0) + 1
                case.oracle, case.error = oracle, True
            else:
                case.oracle, case.outputs = oracle, result
                if ours is None:
                    case.outputs = [rounded(t, natural(case, t)) for t in theirs]
            return
        if isinstance(ours, Exception) and isinstance(theirs, Exception):
            case.oracle, case.error = "mlx", True
            return
        why = None
        if isinstance(ours, Exception):
            why = f"MLX refuses: {str(ours)[:80]}"
        elif isinstance(theirs, Exception):
            why = f"NumPy refuses: {type(theirs).__name__} {str(theirs)[:80]}"
        elif len(ours) != len(theirs):
            why = f"{len(ours)} results for {len(theirs)}"
        else:
            for mine, right in zip(ours, theirs):
                with quiet():
                    right = rounded(right, departure.dtype_of(case, name_of(mine)) if departure else name_of(mine))
                why = why or agrees(mine, right, rule_for(entry["compare"], right), case.scale)
        if why is None and (departure is None or departure.steady):
            case.oracle, case.outputs = "mlx", ours
        elif departure is None:
            self.disagreements.append((case.shown(), why, ours, theirs))
        else:
            case.departure = departure.name
            self.used[departure.name] = self.used.get(departure.name, 0) + 1
            if isinstance(theirs, Exception):
                case.oracle, case.error = "numpy", True
                return
            names = [natural(case, t) for t in theirs] if isinstance(ours, Exception) else [name_of(o) for o in ours]
            with quiet():
                case.outputs = [rounded(right, departure.dtype_of(case, n)) for right, n in zip(theirs, names)]
            case.oracle = "numpy"

    def write(self, folder):
        """One file per operation, and an index."""
        index = {}
        for name, entry in sorted(self.ops.items()):
            pool = Pool()
            cases = [pool.case(case) for case in entry["cases"]]
            manifest = {"op": name, "compare": entry["compare"], "kind": entry["kind"], "cases": cases}
            pool.write(folder / f"{name}.safetensors", {"manifest": json.dumps(manifest, separators=(",", ":"))})
            index[name] = len(cases)
        return index


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def attempt(function, args, read):
    """Results as arrays, or why there are none."""
    try:
        results = listed(function(*args))
        if results and isinstance(results[0], mx.array):
            mx.eval(results)
        return [read(r) for r in results]
    except Unknown as why:
        return why
    except (Refused, ValueError, RuntimeError, TypeError, IndexError, OverflowError, np.linalg.LinAlgError,
            ZeroDivisionError) as why:
        return why


def natural(case, array):
    """The dtype of a result of which only the wide numbers are known: that of the operands."""
    array = np.asarray(array)
    if array.dtype == np.complex128:
        return "complex64"
    if array.dtype == np.float64:
        return next((d for d in case.dtypes if d in FLOATS), "f32")
    return name_of(array)


def rounded(array, name):
    """Wide numbers as a dtype has them."""
    array = np.asarray(array)
    if array.dtype == NUMPY[name]:
        return array
    if name in ("f16", "bf16", "f32", "f64") and np.iscomplexobj(array):
        array = array.real
    return array.astype(NUMPY[name])


class Pool:
    """Tensors of a file; equal ones are kept once."""

    def __init__(self):
        self.names, self.tensors = {}, []

    def add(self, array):
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (name_of(array), array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self.names:
            self.names[key] = f"t{len(self.tensors)}"
            self.tensors.append((self.names[key], array))
        return self.names[key]

    def case(self, case):
        given = []
        args = written(case.args, given)
        inputs = []
        for g in given:
            entry = [self.add(g.base), g.layout]
            inputs.append([*entry, g.shape] if g.layout == "broadcast" else entry)
        out = {"args": args, "inputs": inputs, "dtype": case.dtype, "oracle": case.oracle}
        if case.error:
            out["error"] = True
        else:
            out["outputs"] = [self.add(o) for o in case.outputs]
        if case.scale:
            out["scale"] = case.scale
        if case.departure:
            out["departure"] = case.departure
        if case.kind:
            out["kind"] = case.kind
        return out

    def write(self, path, metadata):
        header, at = {"__metadata__": metadata}, 0
        ordered = sorted(self.tensors, key=lambda t: -t[1].dtype.itemsize)
        for name, array in ordered:
            header[name] = {"dtype": FORMAT[name_of(array)], "shape": list(array.shape),
                            "data_offsets": [at, at + array.nbytes]}
            at += array.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, array in ordered:
                file.write(array.tobytes())
