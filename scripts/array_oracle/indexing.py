"""Indices: NumPy decides what they mean. An index is a list of integers,
{"slice": [start, stop, step]}, "new", "..." and arrays of integers or bools."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale, ulps
from array_oracle.record import Refused, Unknown
from array_oracle.values import (ALL, FLOATS, INTS, LARGE, LAYOUTS, NUMPY, REALS, Given, distinct, draw, generator, wide)

ALL_OF = {"slice": [None, None, None]}


def s(start=None, stop=None, step=None):
    return {"slice": [start, stop, step]}


def numpy_index(items):
    def one(item):
        if isinstance(item, dict):
            return slice(*item["slice"])
        if isinstance(item, str):
            return {"new": None, "...": Ellipsis}[item]
        return item
    return tuple(one(item) for item in items)


def integers(*rows):
    return Given(np.array(rows if len(rows) != 1 else rows[0], np.int32))


def grid(rng):
    """Shapes with indices of every kind."""
    def mask(shape):
        return Given(rng.integers(0, 2, shape).astype(bool))
    yield from [((5,), [i]) for i in (0, -1, 3, 7, -6)]
    yield from [((5,), [s(*x)]) for x in [(1, 4), (None, None, -1), (4, 0, -2), (-3, None), (10, None), (3, 1), (None, None, 3),
                                          (-1, -6, -1), (None, -10, -2), (0, 5, 2), (2, 2)]]
    yield from [((3, 4), x) for x in [
        [1], [1, 2], ["...", 0], [ALL_OF, 1], [s(None, None, -1), s(1, None, 2)], ["new"], [0, "new", s(1, 3)], ["new", "...", "new"],
        [s(None, None, 2), "new", -1], [], ["..."], [s(0, 0)], [1, s(3, None, -1)], [1, 2, 0], [s(-2, None), s(None, -1)]]]
    yield from [((2, 3, 4), x) for x in [
        [1, "...", 2], [s(None, None, -1), 1], [ALL_OF, ALL_OF, s(3, 0, -2)], ["...", s(1, 3)], [0, 1, 2], ["new", 1, "...", "new", 0],
        [s(0, 2), 1, s(None, None, 3)]]]
    yield ((), [])
    yield ((), ["new"])
    yield ((), ["..."])
    yield ((0, 3), [s(None), 1])
    yield ((0, 3), ["...", s(None, None, -1)])
    # Arrays of integers.
    yield from [((5,), [integers([4, 0, -1, 2])]), ((5,), [integers([[1, 2], [3, -5]])]), ((5,), [Given(np.zeros(0, np.int32))]),
                ((5,), [Given(np.int32(2))]), ((3, 4), [integers([2, 0])]), ((3, 4), [integers([2, 0]), integers([1, -1])]),
                ((3, 4), [ALL_OF, integers([3, 3, 0])]), ((3, 4), [integers([[0], [2]]), integers([1, 3, 0])]),
                ((3, 4), [1, integers([0, -1])]), ((3, 4), [integers([0, 2]), 1]), ((3, 4), [integers([1, 2]), s(None, None, -2)]),
                ((3, 4), ["...", integers([1, 0])]), ((3, 4), [integers([1, 0]), "new"]), ((3, 4), ["new", integers([1, 0])])]
    yield from [((2, 3, 4), x) for x in [
        [integers([1, 0]), ALL_OF, integers([2, 3])], [ALL_OF, integers([1, 0]), integers([2, 3])], [0, ALL_OF, integers([1, 1])],
        [ALL_OF, integers([[0, 2]]), s(None, None, -1)], [integers([0, 1]), "...", 1], [integers([1]), integers([[0], [2]]), integers([3, 1])],
        [integers([0, 1]), "new", integers([1, 2])], [s(1, None), integers([0]), s(1, 3)], ["...", integers([3, 0]), "new"],
        [integers([1, 0]), s(0, 2), 1], [1, s(0, 2), integers([1, 0, 3])], [integers([0, 1]), 1, integers([2, 3])]]]
    # Masks.
    yield from [((5,), [mask((5,))]), ((3, 4), [mask((3, 4))]), ((3, 4), [mask((3,))]), ((3, 4), [ALL_OF, mask((4,))]),
                ((3, 4), [mask((3,)), 1]), ((2, 3, 4), [mask((2, 3))]), ((2, 3, 4), [0, mask((3, 4))]), ((2, 3, 4), ["...", mask((4,))]),
                ((5,), [Given(np.zeros(5, bool))]), ((5,), [Given(np.ones(5, bool))]), ((3, 4), [mask((3,)), s(None, None, -1)]),
                ((3, 4), [Given(np.array([True, False, True])), integers([1, 3])]),
                ((2, 3, 4), [Given(np.array([True, True])), ALL_OF, integers([0, 3])]),
                ((5,), [mask((4,))]), ((3, 4), [mask((4, 3))])]


def repeats(shape, items):
    """Whether an index names an element twice."""
    with_numbers = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        seen = with_numbers[numpy_index([i.array if isinstance(i, Given) else i for i in items])]
    except IndexError:
        return True
    return len(np.unique(seen)) != seen.size


def reads(r):
    r.op("index", EXACT)
    for d, dtype in enumerate(["f32", "i32", "f16", "bool", "complex64", "u8", "f64"]):
        rng = generator("index", dtype)
        for k, (shape, items) in enumerate(grid(generator("index"))):
            if dtype == "f32" or k % 6 == d - 1:
                x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
                r.case("index", [x, items], None, lambda x, i: x[numpy_index(i)])
    rng = generator("index", "more")
    for kind in ["i8", "u8", "i16", "u32", "i64", "u64"]:
        at = Given(np.array([2, 0, 1]).astype(NUMPY[kind]), "reversed")
        r.case("index", [Given(draw(rng, (3, 2), "f32")), [at]], None, lambda x, i: x[numpy_index(i)])
    for shape, items in [(LARGE, [integers(rng.integers(-65, 65, 900))]), (LARGE, [ALL_OF, integers(rng.integers(0, 521, 300))]),
                         (LARGE, [s(None, None, -2), s(500, 3, -3)]), (LARGE, [Given(rng.integers(0, 2, LARGE).astype(bool))])]:
        r.case("index", [Given(draw(rng, shape, "f32")), items], None, lambda x, i: x[numpy_index(i)])


def writes(r):
    functions = {"set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
                 "minimum": np.minimum, "maximum": np.maximum}
    for name, function in functions.items():
        op = f"at_{name}"
        r.op(op, scale(1e-6) if name in ("add", "subtract", "multiply", "divide") else EXACT)

        def ref(x, items, value, function=function):
            kind = x.dtype
            out = wide(x).copy()
            if function is None:
                out[numpy_index(items)] = value
            elif function is np.divide and kind.kind in "iu":
                raise Unknown
            else:
                function.at(out, numpy_index(items), wide(value) if isinstance(value, np.ndarray) else value)
            return out.astype(kind)
        for d, dtype in enumerate(["f32", "i32", "f16", "bf16", "f64", "u8"]):
            if name == "divide" and dtype in INTS:
                continue
            rng = generator(op, dtype)
            for k, (shape, items) in enumerate(grid(generator("index"))):
                if dtype != "f32" and k % 6 != d:
                    continue
                if name == "set" and repeats(shape, items):
                    continue
                try:
                    taken = np.zeros(shape)[numpy_index([i.array if isinstance(i, Given) else i for i in items])].shape
                except IndexError:
                    taken = ()
                x = Given(draw(rng, shape, dtype, "positive"), LAYOUTS[(k + d) % 6])
                size = taken if k % 3 else taken[len(taken) // 2:]
                value = Given(draw(rng, size, dtype, "positive"), LAYOUTS[k % 3]) if k % 5 else 2
                r.case(op, [x, items, value], None, ref)
        # Repeats accumulate.
        if name not in ("set", "divide"):
            rng = generator(op, "repeats")
            x, at = Given(draw(rng, (4, 3), "f32")), integers([1, 1, 3, 1, -1])
            r.case(op, [x, [at], Given(draw(rng, (5, 3), "f32"))], None, ref)
            r.case(op, [Given(draw(rng, (6,), "i32")), [integers([0, 0, 0, 5])], Given(draw(rng, (4,), "i32"))], None, ref)
    r.op("at_set", EXACT)


def along(r):
    r.op("take", EXACT)
    r.op("take_along_axis", EXACT)
    r.op("put_along_axis", EXACT)
    for d, dtype in enumerate(["f32", "i32", "f16", "bool", "complex64", "bf16", "f64", "u8"]):
        rng = generator("take", dtype)
        for k, (shape, at, axis) in enumerate([((3, 4), [2, 0, -1], 0), ((3, 4), [[1, -1], [0, 3]], 1), ((3, 4), [5, 0, -1], None),
                                               ((5,), 3, 0), ((2, 3, 4), [1, 1], 1), ((2, 0), [0], 0), ((3,), [], 0), ((2, 3, 4), 1, -1)]):
            indices = Given(np.array(at, np.int32 if k % 2 else np.uint32 if np.min(at, initial=0) >= 0 else np.int64))
            x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
            r.case("take", [x, indices, axis], mx.take, lambda x, i, a: np.take(x, i, a))
        for k, (shape, other, axis) in enumerate([((3, 4), (2, 4), 0), ((3, 4), (3, 2), 1), ((3, 4), (6,), None), ((2, 3, 4), (2, 5, 4), 1),
                                                  ((3, 4), (3, 4), -1), ((0, 3), (0, 2), 1)]):
            x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
            limit = int(np.prod(shape)) if axis is None else shape[axis]
            at = rng.integers(-limit, limit, other).astype(np.int32)
            r.case("take_along_axis", [x, Given(at, LAYOUTS[k % 3]), axis], mx.take_along_axis,
                   lambda x, i, a: np.take_along_axis(x, i.astype(np.int64), a))
            if axis is None or 0 in shape:
                continue
            order = np.argsort(rng.random(shape), axis).astype(np.int32)
            order = np.take(order, range(min(other[axis], shape[axis])), axis)
            value = Given(draw(rng, order.shape, dtype), LAYOUTS[(k + 1) % 3])

            def put(x, i, v, a):
                out = x.copy()
                np.put_along_axis(out, i.astype(np.int64), v, a)
                return out
            r.case("put_along_axis", [x, Given(order), value, axis], mx.put_along_axis, put)
    rng = generator("take", "large")
    r.case("take", [Given(draw(rng, LARGE, "f32")), Given(rng.integers(0, 521, 700).astype(np.int32)), 1], mx.take,
           lambda x, i, a: np.take(x, i, a))


def beyond(r):
    """What MLX lacks."""
    r.op("nonzero", EXACT)
    for d, dtype in enumerate(ALL):
        rng = generator("nonzero", dtype)
        x = Given(draw(rng, (3, 4), dtype, "small") * rng.integers(0, 2, (3, 4)).astype(NUMPY[dtype]), LAYOUTS[d % 6])
        r.case("nonzero", [x], None, lambda x: [i.astype(np.int64) for i in np.nonzero(wide(x))])
    for shape in [(7,), (0,), (2, 3, 4), (1,)]:
        x = Given(rng.integers(0, 2, shape).astype(np.int32))
        r.case("nonzero", [x], None, lambda x: [i.astype(np.int64) for i in np.nonzero(x)])
    r.op("isin", EXACT)
    for dtype in [*INTS, *FLOATS]:
        rng = generator("isin", dtype)
        for k, (a, b) in enumerate([((3, 4), (5,)), ((6,), (0,)), ((2, 2), (2, 3))]):
            one, other = (np.round(draw(rng, size, dtype, "small")) for size in (a, b))
            r.case("isin", [Given(one, LAYOUTS[k % 6]), Given(other)], None, lambda a, b: np.isin(wide(a), wide(b)))
    r.op("quantile", scale())
    for dtype in ["f32", "f64", "f16", "i32"]:
        rng = generator("quantile", dtype)
        for k, (shape, q, axis, keep) in enumerate([((7,), 0.5, None, False), ((3, 5), 0.25, 1, False), ((3, 5), 0.9, 0, True),
                                                    ((2, 3, 4), 0.0, None, False), ((2, 3, 4), 1.0, [0, 2], False), ((4,), 1 / 3, 0, True)]):
            r.case("quantile", [Given(draw(rng, shape, dtype), LAYOUTS[k % 6]), q, axis, keep], None,
                   lambda x, q, a, k: np.quantile(wide(x).astype(np.float64), q, tuple(a) if isinstance(a, list) else a, keepdims=k))
        several = Given(np.array([0.1, 0.5, 0.75], np.float32))
        r.case("quantile", [Given(draw(rng, (3, 5), dtype)), several, 1, False], None,
               lambda x, q, a, k: np.quantile(wide(x).astype(np.float64), q.astype(np.float64), a, keepdims=k))
    r.op("bincount", EXACT)
    for dtype in INTS:
        rng = generator("bincount", dtype)
        for size, least in [(9, 0), (5, 12), (0, 3)]:
            r.case("bincount", [Given(np.abs(draw(rng, (size,), dtype, "small"))), None, least], None,
                   lambda x, w, n: np.bincount(x.astype(np.int64), minlength=n))
    r.op("interp", scale(4e-6))
    for dtype in ["f32", "f64"]:
        rng = generator("interp", dtype)
        xp = np.sort(draw(rng, (6,), dtype))
        for k, shape in enumerate([(5,), (3, 4), (), (0,), (40,)]):
            r.case("interp", [Given(draw(rng, shape, dtype), LAYOUTS[k % 3]), Given(xp), Given(draw(rng, (6,), dtype), "reversed")], None,
                   lambda x, a, b: np.interp(wide(x), wide(a), wide(b)))


def record(r):
    reads(r)
    writes(r)
    along(r)
    beyond(r)
