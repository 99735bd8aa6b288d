"""Checks exported models with other people's engines.

usage: check_exports.py FOLDER

FOLDER holds what the tests of exported models wrote: see
crates/onnx/tests/exports/record.rs. Each model must pass the checker of the `onnx`
package in full, and give the recorded results in ONNX Runtime. Operators that ONNX
Runtime has no kernels of for some element type are counted by what it says.

check_exports.txt pins the packages.
"""

import collections
import json
import pathlib
import re
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

DTYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64,
    "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2": ml_dtypes.float8_e5m2, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}

# relative and absolute
CLOSE = {np.dtype(np.float16): 4e-3, np.dtype(ml_dtypes.bfloat16): 3e-2, np.dtype(np.float32): 5e-5,
         np.dtype(np.float64): 1e-9}

# What ONNX Runtime says of a kernel that it does not have.
MISSING = re.compile(r"NOT_IMPLEMENTED|Could not find an implementation|No kernel|not supported|"
                     r"Unsupported (?:input|data) type|is not a registered function/op")

# Elements that cannot be given to ONNX Runtime from Python.
UNGIVEN = {"FLOAT8", "INT4", "UINT4", "FLOAT4"}


def read(path):
    """The tensors of a safetensors file by name."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + at for at in info["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], DTYPES[info["dtype"]]).reshape(info["shape"])
    return tensors


def casts_ends(model):
    """The model with bf16 inputs and outputs as f32, which Python can pass."""
    graph = model.graph
    bf16, f32 = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT
    before, after = [], []
    for info in graph.input:
        if info.type.tensor_type.elem_type == bf16:
            info.type.tensor_type.elem_type = f32
            before.append(onnx.helper.make_node("Cast", [info.name], [f"{info.name}/bf16"], to=bf16))
            rename(graph, info.name, f"{info.name}/bf16")
    for info in graph.output:
        if info.type.tensor_type.elem_type == bf16:
            info.type.tensor_type.elem_type = f32
            for node in graph.node:
                for i, name in enumerate(node.output):
                    if name == info.name:
                        node.output[i] = f"{info.name}/bf16"
            rename(graph, info.name, f"{info.name}/bf16")
            after.append(onnx.helper.make_node("Cast", [f"{info.name}/bf16"], [info.name], to=f32))
    nodes = before + list(graph.node) + after
    del graph.node[:]
    graph.node.extend(nodes)


def rename(graph, old, new):
    """What a graph, and the graphs in it, read under another name."""
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, old, new)


def difference(found, expected):
    """What is wrong with a result, if anything."""
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype not in CLOSE:
        return None if np.array_equal(found, expected) else f"{found.ravel()[:8]}, expected {expected.ravel()[:8]}"
    close = CLOSE[expected.dtype]
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if np.allclose(a, b, rtol=close, atol=close, equal_nan=True):
        return None
    at = np.flatnonzero(~np.isclose(a, b, rtol=close, atol=close, equal_nan=True).ravel())[0]
    return f"item {at} is {a.ravel()[at]}, expected {b.ravel()[at]}"


def check(model, inputs, outputs):
    """What is wrong with a model: None, a kind of gap, or an error."""
    onnx.checker.check_model(model, full_check=True)
    types = {onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type)
             for info in [*model.graph.input, *model.graph.output]}
    if any(name.startswith(tuple(UNGIVEN)) for name in types):
        return "elements that Python cannot give"
    casts_ends(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        given = {info.name: x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x
                 for info, x in zip(model.graph.input, inputs)}
        results = session.run(None, given)
    except Exception as error:  # noqa: BLE001: the runtime raises its own kinds
        if MISSING.search(str(error)):
            return "kernels that ONNX Runtime lacks"
        raise
    if len(results) != len(outputs):
        raise ValueError(f"{len(results)} results, expected {len(outputs)}")
    for found, expected in zip(results, outputs):
        if wrong := difference(found, expected):
            raise ValueError(wrong)
    return None


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    counts, wrong = collections.Counter(), []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors")):
        tensors = read(path)
        for number in range(sum(name.endswith("/model") for name in tensors)):
            def values(kind):
                names = (f"{number}/{kind}_{i}" for i in range(len(tensors)))
                found = []
                for name in names:
                    if name not in tensors:
                        return found
                    found.append(tensors[name])

            model = onnx.load_from_string(tensors[f"{number}/model"].tobytes())
            operators = [node.op_type for node in model.graph.node]
            try:
                counts[check(model, values("input"), values("output")) or "right"] += 1
            except Exception as error:  # noqa: BLE001: every kind of failure is one to report
                shapes = [f"{x.dtype}{list(x.shape)}" for x in values("input")]
                wrong.append(f"{path.stem} {number} {operators[:8]} of {', '.join(shapes)}: {str(error)[:300]}")
    for kind, count in sorted(counts.items()):
        print(f"{count} models: {kind}")
    if wrong or not counts["right"]:
        raise SystemExit("\n".join([f"{len(wrong)} models are wrong", *wrong]))


main()
