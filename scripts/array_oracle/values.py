"""Element types, the numbers that cases are made of, and how arrays lie."""

import zlib

import ml_dtypes
import mlx.core as mx
import numpy as np

NUMPY = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "complex64": np.complex64,
}
MLX = {
    "bool": mx.bool_, "u8": mx.uint8, "u16": mx.uint16, "u32": mx.uint32, "u64": mx.uint64,
    "i8": mx.int8, "i16": mx.int16, "i32": mx.int32, "i64": mx.int64,
    "f16": mx.float16, "bf16": mx.bfloat16, "f32": mx.float32, "f64": mx.float64, "complex64": mx.complex64,
}
NAMES = {np.dtype(kind): name for name, kind in NUMPY.items()}

UNSIGNED = ["u8", "u16", "u32", "u64"]
SIGNED = ["i8", "i16", "i32", "i64"]
INTS = UNSIGNED + SIGNED
HALVES = ["f16", "bf16"]
FLOATS = [*HALVES, "f32", "f64"]
INEXACT = [*FLOATS, "complex64"]
REALS = ["bool", *INTS, *FLOATS]
ALL = [*REALS, "complex64"]

# Larger than what one thread takes.
LARGE = (65, 521)


class D:
    """A dtype as an argument."""

    def __init__(self, name):
        self.name = name


def name_of(array):
    return NAMES[array.dtype]


def is_float(name):
    return name in FLOATS


def generator(*words):
    """The same numbers in every run."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(repr(words).encode())))


def wide(array):
    """The same numbers in the widest type of their class, in which NumPy computes."""
    name = name_of(array)
    if name in FLOATS:
        return array.astype(np.float64)
    if name == "complex64":
        return array.astype(np.complex128)
    return array


def draw(rng, shape, dtype, domain="any"):
    """Numbers of a domain, in an array of a shape."""
    kind = NUMPY[dtype]
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(kind)
    if dtype in INTS:
        low = {"any": -20, "small": -3, "positive": 1, "unit": -1, "ge1": 1, "wide": None, "shift": 0}[domain]
        high = {"any": 20, "small": 3, "positive": 9, "unit": 1, "ge1": 9, "wide": None, "shift": 7}[domain]
        info = np.iinfo(kind)
        if low is None:
            return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
        return rng.integers(max(low, info.min), high, shape, endpoint=True).astype(kind)

    def floats():
        if domain == "unit":
            return rng.uniform(-0.95, 0.95, shape)
        if domain in ("positive", "shift"):
            return rng.uniform(0.1, 5.0, shape)
        if domain == "ge1":
            return rng.uniform(1.05, 6.0, shape)
        if domain == "small":
            return rng.uniform(-1.5, 1.5, shape)
        return rng.normal(0.0, 2.0, shape)
    if dtype == "complex64":
        return (floats() + 1j * floats()).astype(kind)
    return np.asarray(floats()).astype(kind)


def distinct(rng, shape, dtype):
    """Numbers of which no two are equal, where the dtype has so many."""
    count = int(np.prod(shape))
    order = rng.permutation(count) - (count // 2 if dtype not in UNSIGNED and dtype != "bool" else 0)
    return order.reshape(shape).astype(NUMPY[dtype])


def special(dtype, complex_limits=False):
    """The numbers at which functions go wrong."""
    kind = NUMPY[dtype]
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTS:
        info = np.iinfo(kind)
        numbers = [0, 1, 2, 3, 7, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        if dtype in SIGNED:
            numbers += [-1, -2, -7]
        return np.array([int(n) for n in numbers], dtype=kind)
    if dtype == "complex64":
        numbers = [0, 1, -1, 1j, -1j, 1 + 1j, -2 - 3j, 0.5 - 0.25j, 3, -4, 1e-3j]
        if complex_limits:
            numbers += [complex(np.inf, 1), complex(0, -np.inf), complex(np.nan, 2), complex(-0.0, -0.0)]
        return np.array(numbers, dtype=kind)
    info = ml_dtypes.finfo(kind)
    numbers = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 100, -100,
               float(info.max), float(info.min), float(info.tiny), -float(info.tiny)]
    return np.array(numbers, dtype=kind)


LAYOUTS = ["plain", "transposed", "reversed", "spread", "broadcast", "offset"]


class Given:
    """An operand: what is stored, the view of it that the case takes, and the numbers seen."""

    def __init__(self, array, layout="plain"):
        array = np.asarray(array)
        if array.ndim == 0:
            layout = "plain"
        if array.size == 0 and layout in ("broadcast", "spread", "offset"):
            layout = "plain"
        self.layout = layout
        self.shape = list(array.shape)
        if layout == "plain":
            base = array
        elif layout == "transposed":
            base = array.T
        elif layout == "reversed":
            base = np.flip(array)
        elif layout == "spread":
            base = np.stack([array, np.flip(array)], axis=-1).reshape(*array.shape[:-1], -1)
        elif layout == "broadcast":
            base = array[:1]
            array = np.broadcast_to(base, array.shape)
        elif layout == "offset":
            base = np.concatenate([np.flip(array)[:1], array], axis=0)
        else:
            raise ValueError(layout)
        self.base = np.ascontiguousarray(base).reshape(np.shape(base))
        self.array = np.ascontiguousarray(array).reshape(array.shape)

    @property
    def dtype(self):
        return name_of(self.array)


def to_mlx(array):
    """The bits of an array, in MLX."""
    name = name_of(array)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if name == "bf16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    if name == "f64":
        return mx.array(array.view(np.uint64)).view(mx.float64)
    return mx.array(array)


def from_mlx(array):
    """The bits of an array of MLX."""
    if array.dtype == mx.bfloat16:
        return np.array(array.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(array)
