"""Builds the ONNX file of EfficientNet-Lite0 from published weights.

usage: make_efficientnet.py WEIGHTS.pth MODEL.onnx

The weights are in the older format of PyTorch: a run of pickles, then the
numbers. Only what such a file of plain tensors needs is unpickled. The model
takes `input`, f32 [N, 3, 224, 224] of (pixel - 127) / 128, and gives `logits`,
f32 [N, 1000].
"""

import collections
import pickle
import struct
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8", "HalfStorage": "<f2"}

# How often, kernel, stride, times wider inside, channels in and out.
BLOCKS = [
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
]


class Reader(pickle.Unpickler):
    """Gives places in storages for tensors, and refuses every other name."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in TYPES:
            return name
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *rest: (storage, offset, size, stride)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *rest: data
        raise pickle.UnpicklingError(f"unexpected {module}.{name}")

    def persistent_load(self, pid):
        return pid[1], pid[2]  # the type and the key of a storage


def read(path):
    """The tensors of a file by name."""
    with open(path, "rb") as file:
        for _ in range(3):
            Reader(file).load()  # what marks the format, its version, the system
        places, keys = Reader(file).load(), Reader(file).load()
        types = {storage[1]: TYPES[storage[0]] for storage, *_ in places.values()}
        storages = {}
        for key in keys:
            count = struct.unpack("<q", file.read(8))[0]
            dtype = numpy.dtype(types[key])
            storages[key] = numpy.frombuffer(file.read(count * dtype.itemsize), dtype)
    tensors = {}
    for name, ((_, key), offset, size, stride) in places.items():
        flat = storages[key][offset:]
        strides = [step * flat.itemsize for step in stride]
        tensors[name] = numpy.lib.stride_tricks.as_strided(flat, size, strides).copy()
    return tensors


class Builder:
    """Collects the nodes and weights of the graph."""

    def __init__(self, weights):
        self.weights, self.nodes, self.stored = weights, [], []
        self.constant("zero", numpy.float32(0))
        self.constant("six", numpy.float32(6))

    def constant(self, name, value):
        self.stored.append(numpy_helper.from_array(numpy.asarray(value, order="C"), name))
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def node(self, op, inputs, **attributes):
        out = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        return out

    def conv(self, x, name, stride=1, groups=1):
        return self.node("Conv", [x, self.weight(name)], strides=[stride, stride], group=groups, auto_pad="SAME_UPPER")

    def norm(self, x, name):
        parts = [self.weight(f"{name}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        return self.node("BatchNormalization", [x, *parts], epsilon=1e-3)

    def clip(self, x):
        return self.node("Clip", [x, "zero", "six"])

    def block(self, x, name, stride, wider, inside, skip):
        y = x
        if wider != 1:
            y = self.clip(self.norm(self.conv(y, name + "_expand_conv.weight"), name + "_bn0"))
        y = self.conv(y, name + "_depthwise_conv.weight", stride, inside)
        y = self.clip(self.norm(y, name + "_bn1"))
        y = self.norm(self.conv(y, name + "_project_conv.weight"), name + "_bn2")
        return self.node("Add", [y, x]) if skip else y


def build(weights):
    b = Builder(weights)
    x = b.clip(b.norm(b.conv("input", "_conv_stem.weight", 2), "_bn0"))
    index = 0
    for repeat, _, stride, wider, channels, out in BLOCKS:
        for i in range(repeat):
            inside = wider * (channels if i == 0 else out)
            x = b.block(x, f"_blocks.{index}.", stride if i == 0 else 1, wider, inside, i > 0)
            index += 1
    x = b.clip(b.norm(b.conv(x, "_conv_head.weight"), "_bn1"))
    x = b.node("Flatten", [b.node("GlobalAveragePool", [x])])
    last = helper.make_node("Gemm", [x, b.weight("_fc.weight"), b.weight("_fc.bias")], ["logits"], transB=1)
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 224, 224])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 1000])]
    graph = helper.make_graph([*b.nodes, last], "efficientnet_lite0", inputs, outputs, b.stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    model = build(read(sys.argv[1]))
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[2])


main()
