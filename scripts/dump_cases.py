"""Completes a folder of oracles with what the `onnx` package defines in Python.

usage: dump_cases.py FOLDER

From 1.23 on, the wheel no longer holds the files of the tests of single
operators: they are written to FOLDER/onnx-VERSION/node, in the layout of the
other tests. The models of whole networks in FOLDER/onnx-*/light get their
inputs. FOLDER/standard.json lists the operators of the standard, and those that
each case uses.
"""

import json
import pathlib
import shutil
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

WRITERS = {
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "map_type": numpy_helper.from_dict,
}


def message(value, info):
    """The protobuf message of a value, of the type that the model declares."""
    if isinstance(value, onnx.TensorProto):
        return value
    write = WRITERS.get(info.type.WhichOneof("value"))
    return write(value, info.name) if write else numpy_helper.from_array(numpy.asarray(value), info.name)


def put(path, what):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(what.SerializeToString())


def node(out):
    shutil.rmtree(out, ignore_errors=True)
    with warnings.catch_warnings():
        # Right results that are infinite or not a number are computed, too.
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    for case in cases:
        folder = out / case.name
        put(folder / "model.onnx", case.model)
        graph = case.model.graph
        for n, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{n}"
            data.mkdir(exist_ok=True)
            for stem, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
                for k, (value, info) in enumerate(zip(values, infos, strict=True)):
                    put(data / f"{stem}_{k}.pb", message(value, info))
    if not cases:
        raise SystemExit("the package defines no tests of operators")


def light(out):
    for path in sorted(out.glob("*/model.onnx")):
        graph = onnx.load(path).graph
        stored = {tensor.name for tensor in graph.initializer}
        for k, info in enumerate(i for i in graph.input if i.name not in stored):
            # The right results belong to the inputs that the package's own runner makes.
            put(path.parent / f"test_data_set_0/input_{k}.pb", message(Runner.generate_dummy_data(info), info))


def operators(model):
    """The operators that a model uses, at whatever depth."""
    own = {(function.domain, function.name) for function in model.functions}
    found = set()

    def walk(nodes):
        for node in nodes:
            found.add(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    walk(graph.node)

    walk(model.graph.node)
    for function in model.functions:
        walk(function.node)
    return sorted(found - own)


def standard():
    changes = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        changes.setdefault((schema.domain, schema.name), []).append((schema.since_version, schema.deprecated))
    return [{"domain": domain, "name": name, "since": sorted(since for since, _ in rows),
             "deprecated": max(rows)[1]} for (domain, name), rows in sorted(changes.items())]


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    node(folder / f"onnx-{onnx.__version__}" / "node")
    for suite in folder.glob("onnx-*/light"):
        light(suite)
    cases = {}
    for model in sorted(folder.glob("onnx-*/*/*/model.onnx")):
        suite = model.parent.parent.relative_to(folder).as_posix()
        cases.setdefault(suite, {})[model.parent.name] = operators(onnx.load(model))
    (folder / "standard.json").write_text(json.dumps({"operators": standard(), "cases": cases}))


main()
