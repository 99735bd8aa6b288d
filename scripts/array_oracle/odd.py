"""Odd calls: arguments in every form, numbers where functions have cuts, poles and edges. Cases are added to operations
that other families describe."""

import mlx.core as mx
import numpy as np

from array_oracle.record import Unknown
from array_oracle.reductions import axes_of
from array_oracle.values import ALL, FLOATS, INTS, NUMPY, REALS, SIGNED, Given, draw, generator, special, wide


def shifts(r):
    """By as many bits as there are, and more."""
    for dtype in INTS:
        bits = np.iinfo(NUMPY[dtype]).bits
        by = np.array([0, 1, bits - 1, bits, bits + 1, 2 * bits - 1], NUMPY[dtype])
        for name in ["left_shift", "right_shift"]:
            numpy = np.left_shift if name == "left_shift" else np.right_shift
            r.case(name, [Given(special(dtype)[:, None]), Given(by[None])], None, numpy)
    for name in ["left_shift", "right_shift"]:
        r.case(name, [Given(np.array([True, False])), Given(np.array([True, True]))], None,
               lambda a, b: (np.left_shift if name == "left_shift" else np.right_shift)(a.astype(np.uint8), b.astype(np.uint8)))
        for number in [0, 1, 31]:
            r.case(name, [Given(np.int32([1, -1, 5])), number], getattr(mx, name))


def left(r):
    """Numbers on the left."""
    for name in ["subtract", "divide", "floor_divide", "remainder", "power", "maximum", "arctan2", "less", "left_shift", "bitwise_and"]:
        whole = name in ("left_shift", "bitwise_and")
        for dtype in INTS if whole else [*INTS, *FLOATS]:
            x = draw(generator("left", name, dtype), (2, 3), dtype, "shift" if name == "left_shift" else "positive")
            for number in [5] if whole else [5, 2.5]:
                r.case(name, [number, Given(x)], getattr(mx, name))


def truths(r):
    """Arithmetic on truth values."""
    both = [Given(np.array([[False], [True]])), Given(np.array([False, True]))]
    for name in ["add", "multiply", "maximum", "minimum", "divide", "power", "logaddexp", "arctan2", "remainder", "floor_divide"]:
        if name in ("remainder", "floor_divide"):
            # Not by 0, which ends MLX's process or is settled by a departure.
            both = [both[0], Given(np.array([True, True]))]
        r.case(name, both, getattr(mx, name))
    for name in ["square", "abs", "negative", "sign", "floor", "ceil", "round"]:
        more = [0] if name == "round" else []
        r.case(name, [Given(np.array([False, True])), *more], getattr(mx, name))
    for name in ["add", "multiply", "subtract", "power", "divide"]:
        for number in [True, 2, 0.5]:
            r.case(name, [Given(np.array([False, True])), number], getattr(mx, name))


def powers(r):
    """Integers to negative powers, and past what the dtype holds."""
    for dtype in SIGNED:
        base = np.array([0, 1, -1, 2, -2, 3], NUMPY[dtype])
        # One over the power, towards zero; over 0, 0.
        def over(a, b):
            a, b = a.astype(np.float64), b.astype(np.float64)
            return np.where(a == 0, 0, np.trunc(np.power(np.where(a == 0, 1, a), b))).astype(np.int64)
        r.case("power", [Given(base[:, None]), Given(np.array([-1, -2, -3], NUMPY[dtype])[None])], mx.power, over)
    for dtype in INTS:
        base = np.array([0, 1, 2, 3, 7, 100], NUMPY[dtype])
        by = np.array([0, 1, 5, 8, 31, 64], NUMPY[dtype])
        r.case("power", [Given(base[:, None]), Given(by[None])], mx.power, lambda a, b: np.power(a, b))
    z = special("complex64")
    r.case("power", [Given(z[z != 0][:, None]), Given(np.complex64([0, 1, 2, 0.5, -1, 1j])[None])], mx.power,
           lambda a, b: np.power(wide(a), wide(b)))


def quotients(r):
    """Signs of quotients and of what they leave."""
    for dtype in [*SIGNED, *FLOATS]:
        a = np.array([7, -7, 6, -6, 1, -1, 0], NUMPY[dtype])
        b = np.array([3, -3, 2, -2, 5], NUMPY[dtype])
        for name, numpy in [("floor_divide", np.floor_divide), ("remainder", np.remainder)]:
            r.case(name, [Given(a[:, None]), Given(b[None])], getattr(mx, name), lambda a, b, f=numpy: f(wide(a), wide(b)))
        r.case("divmod", [Given(a[:, None]), Given(b[None])], mx.divmod, lambda a, b: list(np.divmod(wide(a), wide(b))))


def orders(r):
    """NaN, infinities and signed zeros in orders and extremes."""
    for dtype in FLOATS:
        rows = np.array([[np.nan, 1, -np.inf], [0.0, -0.0, np.inf], [np.nan, np.nan, np.nan], [2, np.nan, -1], [-0.0, 0.0, -0.0]], NUMPY[dtype])
        x = Given(rows)
        for axis in [0, 1, -1, None]:
            r.case("sort", [x, axis], mx.sort, lambda x, a: np.take_along_axis(x, np.argsort(wide(x), a, kind="stable"), a) if a is not None
                   else x.ravel()[np.argsort(wide(x).ravel(), kind="stable")])
            r.case("argsort", [x, axis], mx.argsort, lambda x, a: np.argsort(wide(x), a, kind="stable"))
        # Which of two zeros is the least is no one's promise.
        x = Given(np.where(rows == 0, NUMPY[dtype](0), rows).astype(NUMPY[dtype]))
        for axis, keep in [(0, True), (1, False), (None, False), ([0, 1], True), ([], False), ([], True)]:
            for name in ["max", "min", "sum", "prod", "mean", "var", "any", "all"]:
                more = [0] if name == "var" else []
                def ref(x, axis, keep, *_):
                    return getattr(np, name)(wide(x), axis=axes_of(axis), keepdims=keep)
                r.case(name, [x, axis, keep, *more], getattr(mx, name), ref)
        for name in ["cummax", "cummin", "cumsum"]:
            more = [None] if name == "cumsum" else []
            r.case(name, [x, 1, False, True, *more], lambda x, a, *_: getattr(mx, name)(x, a),
                   lambda x, a, *_: {"cummax": np.maximum, "cummin": np.minimum, "cumsum": np.add}[name].accumulate(wide(x), a))


def axes(r):
    """Axes that are none, twice named, or out of range; arrays without dimensions and without elements."""
    for name in ["sum", "prod", "max", "min", "mean", "all", "any", "logsumexp", "median"]:
        # What these two make of nothing is settled elsewhere.
        sizes = [(), (1,), (2, 3)] + ([] if name in ("logsumexp", "median") else [(2, 0), (0, 2)])
        for shape in sizes:
            x = Given(draw(generator("axes", name, shape), shape, "f32"))
            for axis in [None, 0, -1, 1, -2, 2, [0, 0], [0, -1], [], [1, 0]]:
                if name == "median" and axis == [] and shape:
                    continue
                def ref(x, axis, keep):
                    if 0 not in x.shape:
                        raise Unknown
                    # MLX leaves the result of all and prod of nothing unwritten.
                    return getattr(np, name)(wide(x), axis=axes_of(axis), keepdims=keep)
                r.case(name, [x, axis, True], getattr(mx, name), ref)
    for name in ["argmax", "argmin"]:
        for shape in [(), (1,), (2, 3)]:
            x = Given(draw(generator("axes", name, shape), shape, "f32"))
            for axis in [None, 0, -1, 1, -2, 2]:
                if shape or axis is not None:
                    r.case(name, [x, axis, True], getattr(mx, name))
    for name in ["sort", "argsort", "cumsum", "cumprod", "cummax"]:
        more = {"cumsum": [False, True, None], "cumprod": [False, True, None], "cummax": [False, True]}.get(name, [])
        for shape in [(), (1,), (2, 3), (2, 0)]:
            x = Given(draw(generator("axes", name, shape), shape, "f32"))
            for axis in [None, 0, -1, 1, -3]:
                r.case(name, [x, axis, *more], lambda x, a, *_: getattr(mx, name)(x, a))
    for name in ["squeeze", "expand_dims", "flip"]:
        for shape in [(), (1,), (1, 3, 1), (2, 1)]:
            x = Given(draw(generator("axes", name, shape), shape, "f32"))
            for axis in [0, -1, 1, [0, -1], [0, 0], [], 3]:
                if name != "flip" or not isinstance(axis, list):
                    r.case(name, [x, axis], getattr(mx, name))


def cuts(r):
    """Complex functions beside their branch cuts, at infinities and NaN."""
    parts = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5]
    z = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    z = z[z != 0]
    edge = np.array([complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0), complex(0.0, 2), complex(-0.0, 2),
                     complex(0.0, -2), complex(-0.0, -2), complex(-0.5, 0.0), complex(-0.5, -0.0)], np.complex64)
    for name in ["sqrt", "log", "log2", "log10", "log1p", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
                 "arcsinh", "arccosh", "arctanh", "abs", "square", "sigmoid"]:
        numpy = {"sigmoid": lambda z: 1 / (1 + np.exp(-z))}.get(name) or getattr(np, name)
        poles = {"arctanh": [1, -1], "arctan": [1j, -1j], "log1p": [-1]}.get(name, [])
        for numbers in (z, edge):
            x = Given(numbers[~np.isin(numbers, poles)])
            r.case(name, [x], getattr(mx, name), lambda x, f=numpy: f(wide(x)))


def record(r):
    for family in [shifts, left, truths, powers, quotients, orders, axes, cuts]:
        family(r)
