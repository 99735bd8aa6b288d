"""Records what the PyPI package `gguf` makes of block formats and GGUF files.

usage: block_oracle.py FOLDER            blocks and files for the tests
       block_oracle.py --small FOLDER    the few blocks that are committed
       block_oracle.py --file FILE       the file that is committed
       block_oracle.py --check FILE      reads a file that Oneir wrote, and prints what it holds
                                         (of each tensor the first and the last numbers)

FOLDER gets a file for each format, NAME.bin: two 32-bit counts, of blocks to
decode and of blocks to encode; the blocks, what they decode to in f32, numbers
in f32, and the blocks that they encode to. Everything is little endian. The
folder also gets `kinds.gguf`, which has metadata of every kind and tensors of
every type.
"""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFValueType as ValueKind
from gguf import quants

# Where each format keeps scales in half precision: bytes into the block.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0],
    "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
}
DECODED = [*HALVES, "IQ1_M", "MXFP4", "NVFP4", "BF16"]
ENCODED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4", "BF16"]

# Zeros, the smallest, the largest, infinities, NaNs, ones.
EXTREME = np.array([0x0000, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x3C00, 0xBC00],
                   np.uint16)


def set_half(blocks, name, place, halves):
    """Writes scales into blocks."""
    if name == "IQ1_M":  # a quarter in the top of each of four words
        for word in range(4):
            at = 48 + 2 * word + 1
            blocks[:, at] = (blocks[:, at] & 0x0F) | ((halves >> (4 * word)) & 0xF).astype(np.uint8) << 4
    else:
        blocks[:, place] = halves & 0xFF
        blocks[:, place + 1] = halves >> 8


def blocks_of(name, count, extremes, random):
    """Random blocks: most of ordinary scales, some of any, the first of extreme ones."""
    size = gguf.GGML_QUANT_SIZES[Kind[name]][1]
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for number, place in enumerate(HALVES.get(name, [None] if name == "IQ1_M" else [])):
        scales = random.normal(0, 0.05, count).astype(np.float16).view(np.uint16)
        wild = random.random(count) < 0.1
        scales[wild] = random.integers(0, 1 << 16, count).astype(np.uint16)[wild]
        scales[:extremes] = np.roll(np.resize(EXTREME, extremes), number)
        set_half(blocks, name, place, scales)
    if name == "MXFP4":
        blocks[:extremes, 0] = np.resize(np.array([0, 1, 2, 127, 254, 255], np.uint8), extremes)
    if name == "NVFP4":
        blocks[:extremes, :4] = np.resize(np.array([0, 1, 7, 8, 0x7E, 0x7F, 0x80, 0xFF], np.uint8), (extremes, 4))
    return blocks


def numbers_of(name, count, random):
    """Rows of numbers to encode: of many sizes, with ties, zeros and single peaks."""
    size = max(gguf.GGML_QUANT_SIZES[Kind[name]][0], 32)
    scales = (10.0 ** random.uniform(-6, 4, (count, 1))).astype(np.float32)
    rows = random.normal(0, 1, (count, size)).astype(np.float32) * scales
    special = [
        np.zeros(size), np.ones(size), -np.ones(size), np.arange(size), np.arange(size) - size / 2,
        np.where(np.arange(size) == 5, -8.0, 0.0), np.where(np.arange(size) == 5, 1e-9, 0.0),
        (np.arange(size) % 16 - 8) / 2, (np.arange(size) % 31 - 15) / 8, np.linspace(-127, 127, size),
        np.linspace(-1, 1, size) * 3e38, np.linspace(-1, 1, size) * 1e5, np.linspace(0, 1, size) * 2.0 ** -120,
        np.linspace(1, 2, size) * 7, np.exp2(np.arange(size) % 32 - 16), np.linspace(-1, 1, size) ** 3,
    ]
    # Largest numbers at and around powers of two, where an exponent changes.
    for power in range(-100, 100, 9):
        for step in (-3, -2, -1, 0, 1):
            edge = np.float32(2.0 ** power).view(np.uint32) + np.int32(step)
            special.append(np.linspace(-1, 1, size) * np.float64(np.uint32(edge).view(np.float32)))
    return np.concatenate([rows, np.array(special, np.float32)])


def record(folder, small):
    """One file for each format."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(DECODED):
        random = np.random.default_rng(number)
        kind = Kind[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = blocks_of(name, 3 if small else 600, 1 if small else 48, random)
        if name == "BF16":
            blocks = np.arange(0, 1 << 16, 997 if small else 1, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
        decoded = quants.dequantize(blocks, kind).astype(np.float32)
        numbers, encoded = np.empty(0, np.float32), np.empty(0, np.uint8)
        if name in ENCODED:
            numbers = numbers_of(name, 2 if small else 300, random)
            numbers = numbers[:3] if small else numbers
            encoded = quants.quantize(numbers, kind)
        counts = struct.pack("<II", blocks.shape[0], numbers.size // elements)
        parts = [blocks.tobytes(), decoded.tobytes(), numbers.tobytes(), encoded.tobytes()]
        assert decoded.size == blocks.shape[0] * elements and encoded.size == numbers.size // elements * size
        (folder / f"{name}.bin").write_bytes(b"".join([counts, *parts]))


def write_file(path):
    """A file with metadata of every kind and tensors of every type."""
    random = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    scalars = {
        "uint8": 255, "int8": -128, "uint16": 65535, "int16": -32768, "uint32": 2**32 - 1, "int32": -(2**31),
        "uint64": 2**64 - 1, "int64": -(2**63), "float32": 0.5, "float64": 1e300, "bool": True,
    }
    for name, value in scalars.items():
        writer.add_key_value(f"one.{name}", value, ValueKind[name.upper()])
        writer.add_key_value(f"many.{name}", [value, value], ValueKind.ARRAY, ValueKind[name.upper()])
    writer.add_string("one.string", "naïve, two\nlines")
    writer.add_array("many.string", ["a", "", "NUL \0 inside", "語"])
    writer.add_key_value("bytes", [b"\xff\xfe", b"\xc3"], ValueKind.ARRAY, ValueKind.STRING)
    writer.add_key_value("nested", [[1, 2], [3]], ValueKind.ARRAY, ValueKind.ARRAY)
    writer.add_custom_alignment(64)
    for kind in (np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64):
        name = np.dtype(kind).name
        writer.add_tensor(name, (random.normal(0, 20, (2, 3)).astype(kind)))
    writer.add_tensor("rank4", np.arange(24, dtype=np.float32).reshape(2, 3, 1, 4))
    for name in DECODED:
        elements, _ = gguf.GGML_QUANT_SIZES[Kind[name]]
        blocks = blocks_of(name, 2, 0, random).reshape(2, -1)
        writer.add_tensor(name, blocks, raw_dtype=Kind[name])
        assert elements
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(path):
    """Prints what the package reads of a file: keys, then names with types, shapes and decoded numbers."""
    reader = gguf.GGUFReader(path)
    fields = {}
    for name, field in reader.fields.items():
        if name.startswith("GGUF."):
            continue
        try:
            fields[name] = field.contents()
        except UnicodeDecodeError:
            fields[name] = None
    tensors = []
    for tensor in reader.tensors:
        data = tensor.data
        if tensor.tensor_type.name in DECODED or tensor.tensor_type in (Kind.F16, Kind.F32):
            data = quants.dequantize(np.ascontiguousarray(data), tensor.tensor_type)
        shape = [int(n) for n in reversed(tensor.shape)]
        values = np.asarray(data, np.float64).ravel().tolist()
        values = values if len(values) < 25 else values[:6] + values[-6:]
        # As texts, which readers of JSON do not round.
        values = [repr(value) for value in values]
        tensors.append({"name": tensor.name, "type": tensor.tensor_type.name, "shape": shape, "values": values})
    json.dump({"alignment": int(reader.alignment), "metadata": fields, "tensors": tensors}, sys.stdout, default=str)


def main():
    match sys.argv[1:]:
        case ["--small", folder]:
            record(pathlib.Path(folder), True)
        case ["--file", path]:
            write_file(path)
        case ["--check", path]:
            check(path)
        case [folder] if not folder.startswith("-"):
            record(pathlib.Path(folder), False)
            write_file(pathlib.Path(folder) / "kinds.gguf")
        case _:
            raise SystemExit(__doc__)


np.seterr(all="ignore")
main()
