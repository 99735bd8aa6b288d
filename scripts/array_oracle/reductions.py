"""Sums, extremes, running combinations, orders, and choices among elements."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale, ulps
from array_oracle.record import Refused, Unknown
from array_oracle.values import (ALL, FLOATS, HALVES, INEXACT, INTS, LARGE, LAYOUTS, NUMPY, REALS, SIGNED, D, Given,
                                 distinct, draw, generator, special, wide)

AXES = [None, 0, -1, [0, 2], [-1, -2]]


def lines(op, dtypes, domain="any", main="f32", several=True):
    """Operands with axes and keepdims."""
    for dtype in dtypes:
        rng = generator(op, dtype)
        x = Given(draw(rng, (2, 3, 4), dtype, domain), "transposed")
        yield [x, -1, False]
        yield [x, None, True]
        yield [Given(draw(rng, (5, 3), dtype, domain), LAYOUTS[2 + len(op + dtype) % 4]), 0, False]
        if dtype != main:
            continue
        for k, axis in enumerate(AXES if several else [None, 0, 1, -1]):
            yield [Given(draw(rng, (2, 3, 4), dtype, domain), LAYOUTS[k % 6]), axis, k % 2 == 0]
        yield [Given(draw(rng, (), dtype, domain)), None, False]
        yield [Given(draw(rng, (1,), dtype, domain)), 0, False]
        yield [Given(draw(rng, (2, 1, 3, 2), dtype, domain), "reversed"), 1 if not several else [1, 3], False]
        yield [Given(draw(rng, LARGE, dtype, domain)), 0, False]
        yield [Given(draw(rng, LARGE, dtype, domain)), 1, False]
        yield [Given(draw(rng, LARGE, dtype, domain), "transposed"), None, False]
        yield [Given(draw(rng, (2, 0, 3), dtype, domain)), 0, True]
        yield [Given(draw(rng, (2, 3), dtype, domain)), 2, False]


def axes_of(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def refused_on_nothing(x, axis):
    """Extremes of nothing do not exist."""
    sizes = x.shape if axis is None else [x.shape[a] for a in np.atleast_1d(axis)]
    if 0 in sizes:
        raise Refused("nothing to compare")


def wrapped(function):
    """In the result's integers: bool as i32, others as they are."""
    def run(x, axis, keep, *rest):
        if x.dtype.kind in "biu":
            # In 64 bits, of which the result keeps the lowest.
            x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
        return function(wide(x), axis=axes_of(axis), keepdims=keep)
    return run


def sums(r):
    for dtype in INTS:
        r.op("sum", scale())
        r.case("sum", [Given(special(dtype)), None, False], mx.sum, wrapped(np.sum))
    size = lambda x, axis, *_: np.max(np.abs(wide(x)).astype(np.float64).sum(axis=axes_of(axis)), initial=0.0)
    r.op("sum", scale())
    for args in lines("sum", ALL):
        r.case("sum", args, mx.sum, wrapped(np.sum), scale=size if args[0].dtype in INEXACT and args[1] != 2 else None)
    r.op("prod", scale(4e-6, 1e-13, 3e-3, 2e-2))
    for args in lines("prod", ALL, "small"):
        r.case("prod", args, mx.prod, wrapped(np.prod))
    f64 = lambda x: wide(x.astype(np.float32) if x.dtype.kind in "biu" else x)
    r.op("mean", scale())
    for args in lines("mean", ALL):
        r.case("mean", args, mx.mean, lambda x, axis, keep: np.mean(f64(x), axis=axes_of(axis), keepdims=keep),
               scale=lambda x, *_: np.max(np.abs(f64(x)), initial=0.0))
    for name in ["var", "std"]:
        r.op(name, scale(4e-6, 1e-12, 2e-3, 1.5e-2))
        for args in lines(name, REALS):
            for ddof in [0, 1]:
                def ref(x, axis, keep, ddof):
                    return getattr(np, name)(f64(x), axis=axes_of(axis), keepdims=keep, ddof=ddof)
                # Rows that are all the same have no variance, and the rounding of their mean.
                size = (lambda x, *_: np.max(np.abs(f64(x))) ** (2 if name == "var" else 1))
                r.case(name, [*args, ddof], getattr(mx, name), ref,
                       scale=size if args[0].layout == "broadcast" else None)
        for dtype in HALVES:
            # Squares that the half type does not hold, and a mean that it holds badly.
            for base in (300.0, 1000.0):
                x = Given((base + draw(generator(name, dtype, base), (2000,), "f64")).astype(NUMPY[dtype]))
                r.case(name, [x, None, False, 0], getattr(mx, name), ref)
    r.op("median", scale())
    for args in lines("median", REALS):
        def ref(x, axis, keep):
            refused_on_nothing(x, axis)
            return np.median(f64(x), axis=axes_of(axis), keepdims=keep)
        r.case("median", args, mx.median, ref)
    r.op("logsumexp", scale(4e-6))
    for args in lines("logsumexp", [*FLOATS, "i32"]):
        def ref(x, axis, keep):
            x = f64(x)
            if x.size == 0:
                if 0 in [x.shape[a] for a in (range(x.ndim) if axis is None else np.atleast_1d(axis))]:
                    raise Unknown
                return np.sum(x, axis=axes_of(axis), keepdims=keep)
            top = np.max(x, axis=axes_of(axis), keepdims=True)
            out = top + np.log(np.sum(np.exp(x - top), axis=axes_of(axis), keepdims=True))
            return out if keep else np.squeeze(out, axes_of(axis) if axis is not None else None)
        r.case("logsumexp", args, mx.logsumexp, ref)
    r.op("logsumexp", scale(4e-6))
    for row in [[-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 1.0]]:
        r.case("logsumexp", [Given(np.float32(row)), 0, False], mx.logsumexp, lambda x, a, k: np.logaddexp.reduce(wide(x)))
    r.op("softmax", scale(2e-6, 1e-13, 2e-3, 1e-2))
    for dtype in [*FLOATS, "i32", "bool"]:
        rng = generator("softmax", dtype)
        sets = [((3, 5), -1), ((2, 3, 4), 1), ((5,), 0)]
        if dtype == "f32":
            sets += [((2, 3, 4), None), ((2, 3, 4), [0, 2]), ((1, 1), -1), ((0, 3), -1), (LARGE, -1), ((3, 4), 0)]
        for k, (shape, axis) in enumerate(sets):
            for precise in [False, True]:
                def ref(x, axis, precise):
                    x = f64(x)
                    if x.size == 0:
                        return x
                    e = np.exp(x - np.max(x, axis=axes_of(axis), keepdims=True))
                    return e / np.sum(e, axis=axes_of(axis), keepdims=True)
                x = Given(draw(rng, shape, dtype), LAYOUTS[k % 6])
                r.case("softmax", [x, axis, precise], lambda x, a, p: mx.softmax(x, a, precise=p), ref)


def extremes(r):
    for name in ["max", "min"]:
        r.op(name, EXACT)
        for args in lines(name, REALS, "any"):
            def ref(x, axis, keep):
                refused_on_nothing(x, axis)
                return getattr(np, name)(wide(x), axis=axes_of(axis), keepdims=keep)
            r.case(name, args, getattr(mx, name), ref)
        for dtype in REALS:
            r.case(name, [Given(special(dtype)), None, False], getattr(mx, name), ref)
        r.case(name, [Given(np.zeros((2, 0), np.float32)), 1, False], getattr(mx, name), ref)
    r.op("minmax", EXACT)
    for args in lines("minmax", REALS):
        def ref(x, axis, keep):
            refused_on_nothing(x, axis)
            return [f(wide(x), axis=axes_of(axis), keepdims=keep) for f in (np.min, np.max)]
        r.case("minmax", args, mx.minmax, ref)
    for name in ["argmax", "argmin"]:
        r.op(name, EXACT)
        for args in lines(name, REALS, "small", several=False):
            def ref(x, axis, keep):
                if x.size == 0:
                    refused_on_nothing(x, axis)
                return getattr(np, name)(wide(x), axis=axis, keepdims=keep)
            r.case(name, args, getattr(mx, name), ref)
        for dtype in FLOATS:
            x = np.array([1, np.nan, np.inf, np.nan, -np.inf]).astype(NUMPY[dtype])
            r.case(name, [Given(x), 0, False], getattr(mx, name), ref)
        for dtype in INTS:
            r.case(name, [Given(special(dtype)), None, False], getattr(mx, name), ref)
    for name in ["all", "any"]:
        r.op(name, EXACT)
        for args in lines(name, ALL, "small"):
            r.case(name, args, getattr(mx, name),
                   lambda x, axis, keep: getattr(np, name)(wide(x), axis=axes_of(axis), keepdims=keep))
        for dtype in FLOATS:
            r.case(name, [Given(np.array([[0.0, np.nan], [-0.0, 0.0]]).astype(NUMPY[dtype])), 1, False],
                   getattr(mx, name), lambda x, axis, keep: getattr(np, name)(wide(x), axis=axis))
    r.op("count_nonzero", EXACT)
    for args in lines("count_nonzero", ALL, "small"):
        r.case("count_nonzero", args, lambda x, a, k: mx.count_nonzero(x, axis=a, keepdims=k),
               lambda x, a, k: np.count_nonzero(wide(x), axis=axes_of(a), keepdims=k))


def running(r):
    """Scans: axis, reverse, inclusive, and dtype where there is one."""
    functions = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
                 "logcumsumexp": np.logaddexp}
    starts = {"cumsum": 0, "cumprod": 1, "logcumsumexp": -np.inf}
    names = {**{n: n for n in functions}, "cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}
    for name, meaning in names.items():
        compare = {"cumsum": scale(4e-6), "cumprod": scale(4e-6, 1e-13, 3e-3, 2e-2),
                   "logcumsumexp": scale(4e-6)}.get(meaning, EXACT)
        r.op(name, compare)
        dtypes = FLOATS if meaning == "logcumsumexp" else ALL if meaning[:4] == "cums" or meaning == "cumprod" else REALS
        if name.startswith("cumulative"):
            dtypes = ["f32", "i32"]
        for dtype in dtypes:
            rng = generator(name, dtype)
            domain = "small" if meaning == "cumprod" else "any"
            sets = [((7,), 0, False, True), ((3, 5), 1, True, True), ((3, 5), 0, False, False), ((2, 3, 4), -1, True, False)]
            if dtype == "f32":
                sets += [((2, 3), None, False, True), ((), None, False, True), ((0,), 0, False, True),
                         ((3, 0, 2), 0, True, True), ((1, 1), 0, False, False), ((2, 3, 4), 1, False, True),
                         (LARGE, 0, False, True), (LARGE, 1, True, True), ((2, 3), 2, False, True)]
            for k, (shape, axis, reverse, inclusive) in enumerate(sets):
                def ref(x, axis, reverse, inclusive, *dtype):
                    integers = x.dtype.kind in "biu"
                    x = x.astype(dtype[0]) if dtype and dtype[0] is not None else x
                    x = wide(x.astype(np.int32) if x.dtype == bool and meaning in ("cumsum", "cumprod") else x)
                    if axis is None:
                        x, axis = x.reshape(-1), 0
                    if not -x.ndim <= axis < x.ndim:
                        raise Refused("axis")
                    x = np.flip(x, axis) if reverse else x
                    out = functions[meaning].accumulate(x, axis=axis, dtype=x.dtype)
                    if not inclusive:
                        if x.dtype == bool:
                            start = meaning == "cummin"
                        elif integers and meaning not in starts:
                            start = np.iinfo(x.dtype).min if meaning == "cummax" else np.iinfo(x.dtype).max
                        else:
                            start = starts.get(meaning, -np.inf if meaning == "cummax" else np.inf)
                        first = np.full_like(np.take(x, [0], axis) if x.size else x, start)
                        out = np.concatenate([first, np.delete(out, -1, axis)], axis) if x.shape[axis] else out
                    return np.flip(out, axis) if reverse else out
                x = Given(draw(rng, shape, dtype, domain), LAYOUTS[k % 6])
                typed = [None] if meaning in ("cumsum", "cumprod") else []
                call = getattr(mx, name)
                def mlx(x, axis, reverse, inclusive, *dtype):
                    more = {"dtype": dtype[0]} if dtype else {}
                    return call(x, axis, reverse=reverse, inclusive=inclusive, **more)
                size = None
                if meaning in ("cumsum", "logcumsumexp") and dtype in INEXACT:
                    size = lambda x, *_: np.max(np.abs(wide(x)).sum(axis=_[0] if _[0] != 2 else None), initial=0.0)
                r.case(name, [x, axis, reverse, inclusive, *typed], mlx, ref, scale=size)
                if typed and k == 0 and dtype != "complex64":
                    r.case(name, [x, axis, reverse, inclusive, D("i64" if dtype in INTS else "f32")], mlx, ref)
        if dtypes is not FLOATS:
            continue
    for dtype in HALVES:
        long = Given(np.full(3000, 0.25, NUMPY[dtype]))
        r.case("cumsum", [long, 0, False, True, None], lambda x, a, *_: mx.cumsum(x, a),
               lambda x, *_: np.cumsum(wide(x)))


def orders(r):
    r.op("sort", EXACT)
    r.op("argsort", EXACT)
    for dtype in REALS:
        rng = generator("sort", dtype)
        sets = [((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1)]
        if dtype == "f32":
            sets += [((), None), ((0,), 0), ((1,), 0), ((2, 3), None), ((3, 0, 2), 0), (LARGE, 1), (LARGE, 0), ((2, 3), 2)]
        for k, (shape, axis) in enumerate(sets):
            x = Given(draw(rng, shape, dtype, "small"), LAYOUTS[k % 6])
            numpy = lambda f: lambda x, axis: f(wide(x), axis=axis, kind="stable")
            r.case("sort", [x, axis], mx.sort, numpy(np.sort))
            r.case("argsort", [x, axis], mx.argsort, numpy(np.argsort))
        r.case("sort", [Given(special(dtype)), 0], mx.sort, lambda x, a: x[np.argsort(wide(x), kind="stable")])
        r.case("argsort", [Given(special(dtype)), 0], mx.argsort, numpy(np.argsort))
    for name in ["partition", "argpartition"]:
        r.op(name, EXACT)
        for dtype in REALS[1:]:
            rng = generator(name, dtype)
            for k, (shape, kth, axis) in enumerate([((7,), 3, 0), ((3, 5), 2, -1), ((4, 3), -2, 0)]):
                x = Given(distinct(rng, shape, dtype), LAYOUTS[k % 6])
                r.case(name, [x, kth, axis], getattr(mx, name), kind=[name, kth, axis])
    r.op("topk", EXACT)
    for dtype in REALS[1:]:
        rng = generator("topk", dtype)
        for k, (shape, count, axis) in enumerate([((7,), 3, 0), ((3, 5), 2, -1), ((4, 3), 4, 0), ((2, 3), 1, 1)]):
            x = Given(distinct(rng, shape, dtype), LAYOUTS[k % 6])
            r.case("topk", [x, count, axis], mx.topk,
                   lambda x, k, axis: unordered(np.take(np.sort(wide(x), axis), range(-k, 0), axis)),
                   kind=["sorted", axis])
    r.op("searchsorted", EXACT)
    for dtype in [*INTS, *FLOATS]:
        rng = generator("searchsorted", dtype)
        row = np.sort(draw(rng, (9,), dtype))
        for side in ["left", "right"]:
            for values in [draw(rng, (2, 3), dtype), row[::-1].copy(), draw(rng, (), dtype), draw(rng, (0,), dtype)]:
                r.case("searchsorted", [Given(row, "reversed"), Given(values, "spread"), side], mx.searchsorted,
                       lambda a, v, s: np.searchsorted(wide(a), wide(v), side=s).astype(np.uint32))
    r.op("unique", EXACT)
    for dtype in [*INTS, *FLOATS]:
        rng = generator("unique", dtype)
        for k, (shape, size) in enumerate([((9,), 9), ((3, 4), 5), ((7,), 12), ((1,), 1)]):
            x = Given(draw(rng, shape, dtype, "small") if dtype in INTS else np.round(draw(rng, shape, dtype, "small")),
                      LAYOUTS[k % 6])
            for flags in [[False, False, False], [True, True, True], [False, True, False]]:
                fill = None if k % 2 == 0 else 7
                r.case("unique", [x, size, *flags, fill], mx.unique)


def unordered(x):
    raise Unknown


def record(r):
    sums(r)
    extremes(r)
    running(r)
    orders(r)
