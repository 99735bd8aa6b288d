"""Shapes, joins, parts, creation, and conversions."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale, ulps
from array_oracle.record import Refused, Unknown
from array_oracle.values import (ALL, FLOATS, HALVES, INTS, LARGE, LAYOUTS, NUMPY, REALS, SIGNED, D, Given, draw,
                                 generator, special, wide)

SOME = ["f32", "f16", "bf16", "i64", "u8", "bool", "complex64", "f64"]


def grid(r, name, sets, mlx, ref=None, dtypes=SOME, compare=EXACT):
    """Each set of a shape and arguments, in f32 in every layout, in the other dtypes once."""
    r.op(name, compare)
    for d, dtype in enumerate(dtypes):
        rng = generator(name, dtype)
        for k, (shape, *args) in enumerate(sets):
            if dtype != dtypes[0] and k != d % len(sets) and k != (d + 3) % len(sets):
                continue
            layouts = [LAYOUTS[(k + d) % 6], LAYOUTS[(k + d + 3) % 6]] if dtype == dtypes[0] else [LAYOUTS[(k + d) % 6]]
            for layout in layouts:
                r.case(name, [Given(draw(rng, shape, dtype), layout), *args], mlx, ref)


def shapes(r):
    grid(r, "reshape", [((2, 3, 4), [4, 6]), ((2, 3, 4), [-1]), ((6,), [2, -1, 1]), ((), [1, 1]), ((1, 1), []),
                        ((0, 3), [3, 0]), ((2, 3), [4, 2]), ((4, 6), [2, 2, 2, 3]), (LARGE, [LARGE[1], LARGE[0]])],
         mx.reshape, np.reshape)
    grid(r, "flatten", [((2, 3, 4), 0, -1), ((2, 3, 4), 1, 2), ((2, 3, 4), 0, 1), ((), 0, -1), ((2, 0, 4), 0, -1),
                        ((2, 3, 4), 1, 1), ((2, 3), 1, 0)], mx.flatten)
    grid(r, "unflatten", [((2, 12), 1, [3, 4]), ((2, 12), -1, [3, -1]), ((6, 2), 0, [2, 3]), ((6,), 0, [-1, 6]),
                          ((6,), 0, [4, 2])], mx.unflatten)
    grid(r, "broadcast_to", [((3, 1), [2, 3, 4]), ((), [2, 2]), ((1,), [0]), ((5,), [3, 5]), ((3,), [2]), ((2, 1, 3), [2, 4, 3])],
         mx.broadcast_to, np.broadcast_to)
    orders = [((2, 3, 4), None), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [-1, 0, -2]), ((3,), None), ((), None), ((0, 2), [1, 0]),
              (LARGE, None), ((2, 1, 3, 2), [3, 1, 0, 2]), ((2, 3), [0, 0])]
    for name in ["transpose", "permute_dims"]:
        grid(r, name, orders, lambda x, a: mx.transpose(x, a), np.transpose, SOME if name == "transpose" else ["f32"])
    grid(r, "matrix_transpose", [((2, 3), ), ((2, 3, 4),), ((1, 1),), ((2, 0, 3),), ((3,),)], mx.matrix_transpose)
    grid(r, "swapaxes", [((2, 3, 4), 0, 2), ((2, 3, 4), -1, 0), ((3,), 0, 0), ((2, 0), 0, 1), ((2, 3), 0, 2)], mx.swapaxes,
         np.swapaxes)
    grid(r, "moveaxis", [((2, 3, 4), 0, 2), ((2, 3, 4), -1, 0), ((3,), 0, 0), ((2, 0), 0, 1), ((2, 3), 2, 0)], mx.moveaxis,
         np.moveaxis)
    grid(r, "squeeze", [((1, 3, 1), None), ((1, 3, 1), 0), ((1, 3, 1), [0, -1]), ((1,), None), ((2, 3), 0), ((1, 0), 0)],
         mx.squeeze, lambda x, a: np.squeeze(x, tuple(a) if isinstance(a, list) else a))
    grid(r, "expand_dims", [((2, 3), 0), ((2, 3), -1), ((2, 3), [0, 2]), ((), 0), ((0,), 1), ((3,), [0, 1, -1]), ((3,), 4)],
         mx.expand_dims, lambda x, a: np.expand_dims(x, tuple(a) if isinstance(a, list) else a))
    grid(r, "flip", [((2, 3, 4), None), ((2, 3, 4), 1), ((2, 3, 4), [0, -1]), ((), None), ((0, 3), 0), ((5,), -1)], mx.flip,
         lambda x, a: np.flip(x, tuple(a) if isinstance(a, list) else a))
    grid(r, "roll", [((5,), 2, None), ((3, 4), 1, 0), ((3, 4), -5, -1), ((3, 4), [1, 2], [0, 1]), ((3, 4), 3, None),
                     ((0, 2), 1, 0), ((2, 3), [1, 1], 1)], mx.roll,
         lambda x, s, a: np.roll(x, s, tuple(a) if isinstance(a, list) else a))
    grid(r, "repeat", [((3, 2), 2, None), ((3, 2), 3, 0), ((3, 2), 1, -1), ((), 4, None), ((0, 2), 2, 1), ((2,), 0, 0)],
         mx.repeat, np.repeat)
    grid(r, "tile", [((3, 2), 2), ((3, 2), [2, 1]), ((3,), [2, 2]), ((2, 1, 3), [2]), ((), [2, 3]), ((0, 2), [1, 2])], mx.tile,
         np.tile)
    grid(r, "contiguous", [((2, 3), False), ((2, 3, 4), True), ((), False), ((0,), False), (LARGE, False)], mx.contiguous)
    for n in (1, 2, 3):
        grid(r, f"atleast_{n}d", [((),), ((3,),), ((2, 3),), ((2, 3, 4),), ((0, 2),), ((2, 1, 1, 2),)],
             getattr(mx, f"atleast_{n}d"), getattr(np, f"atleast_{n}d"))
    grid(r, "as_strided", [((12,), [3, 4], [4, 1], 0), ((12,), [3, 2], [2, 3], 1), ((2, 6), [4, 3], [1, 2], 0),
                           ((5,), [2, 5], [0, 1], 0), ((6,), [2, 2], None, 2)], mx.as_strided, dtypes=["f32", "i32", "f16", "u8"])


def joins(r):
    for name in ["concatenate", "concat"]:
        r.op(name, EXACT)
        for dtype in SOME if name == "concatenate" else ["f32"]:
            rng = generator(name, dtype)
            for sides, axis in [([(2, 3), (1, 3)], 0), ([(2, 3), (2, 1), (2, 2)], -1), ([(3,), (0,), (2,)], 0),
                                ([(2, 3), (4,)], None), ([(2, 0), (2, 3)], 1), ([(2, 3)], 1), ([(2, 3), (3, 3)], 1)]:
                parts = [Given(draw(rng, s, dtype), LAYOUTS[k * 2 % 6]) for k, s in enumerate(sides)]
                r.case(name, [parts, axis], mx.concatenate, lambda p, a: np.concatenate(p, a))
    rng = generator("concatenate", "mixed")
    r.case("concatenate", [[Given(draw(rng, (2,), "f16")), Given(draw(rng, (2,), "i32")), Given(draw(rng, (1,), "bf16"))], 0],
           mx.concatenate)
    r.op("stack", EXACT)
    for dtype in SOME:
        rng = generator("stack", dtype)
        for shape, count, axis in [((2, 3), 3, 0), ((2, 3), 2, -1), ((), 2, 0), ((0, 2), 2, 1), ((3,), 1, 1)]:
            parts = [Given(draw(rng, shape, dtype), LAYOUTS[k * 2 % 6]) for k in range(count)]
            r.case("stack", [parts, axis], mx.stack, lambda p, a: np.stack(p, a))
    r.case("stack", [[Given(draw(rng, (2,), "f32")), Given(draw(rng, (3,), "f32"))], 0], mx.stack)
    grid(r, "split", [((6, 2), 3, 0), ((2, 7), [2, 5], 1), ((2, 6), 2, -1), ((5,), [0, 2, 2], 0), ((5,), 2, 0), ((0, 2), 1, 0),
                      ((4,), [-1], 0)], mx.split)
    grid(r, "unstack", [((3, 2), 0), ((3, 2), 1), ((2, 3, 2), -1), ((1,), 0), ((2, 0), 0)], lambda x, a: list(mx.unstack(x, axis=a)),
         lambda x, a: list(np.unstack(x, axis=a)))
    r.op("meshgrid", EXACT)
    r.op("broadcast_arrays", EXACT)
    for dtype in ["f32", "i32", "f16", "bool"]:
        rng = generator("meshgrid", dtype)
        parts = [Given(draw(rng, (n,), dtype), layout) for n, layout in [(3, "plain"), (2, "reversed"), (4, "spread")]]
        for count in (1, 2, 3):
            for sparse in (False, True):
                for order in ("xy", "ij"):
                    r.case("meshgrid", [parts[:count], sparse, order],
                           lambda p, s, o: list(mx.meshgrid(*p, sparse=s, indexing=o)),
                           lambda p, s, o: list(np.meshgrid(*p, sparse=s, indexing=o)))
        for shapes_ in [[(3, 1), (4,)], [(), (2, 2)], [(2, 1, 3), (4, 1), (1,)], [(3,), (2,)], [(0,), (1,)]]:
            parts = [Given(draw(rng, s, dtype)) for s in shapes_]
            r.case("broadcast_arrays", [parts], lambda p: list(mx.broadcast_arrays(*p)),
                   lambda p: list(np.broadcast_arrays(*p)))


def parts(r):
    grid(r, "diag", [((3,), 0), ((3,), 1), ((3,), -2), ((3, 4), 0), ((3, 4), 1), ((4, 3), -1), ((0,), 0), ((2, 2), 5)], mx.diag,
         np.diag)
    grid(r, "diagonal", [((3, 4), 0, 0, 1), ((2, 3, 4), 1, 1, 2), ((2, 3, 4), -1, 0, -1), ((3, 3), 1, 1, 0), ((2, 0), 0, 0, 1),
                         ((3, 4), 9, 0, 1)], mx.diagonal, np.diagonal)
    grid(r, "trace", [((3, 4), 0, 0, 1, None), ((2, 3, 4), 1, 1, 2, None), ((3, 3, 2), -1, 0, 1, None), ((1, 1), 0, 0, 1, None),
                      ((3, 3), 0, 0, 1, D("f32"))], lambda x, k, a, b, d: mx.trace(x, k, a, b, d),
         lambda x, k, a, b, d: np.trace(wide(x), k, a, b), dtypes=["f32", "f16", "i32", "i64", "f64", "complex64"], compare=scale())
    for name in ["tril", "triu"]:
        grid(r, name, [((3, 4), 0), ((3, 4), 1), ((4, 3), -1), ((2, 3, 3), 0), ((3, 3), 9), ((3, 3), -9), ((0, 3), 0)],
             getattr(mx, name), lambda x, k: getattr(np, name)(x, k))
    grid(r, "pad", [((2, 3), 1, "constant", 0), ((2, 3), [1, 2], "constant", 3), ((2, 3), [[1, 0], [0, 2]], "constant", 1),
                    ((3,), [[2, 2]], "edge", 0), ((2, 3), [[0, 1], [2, 0]], "edge", 0), ((0, 2), [[1, 1], [0, 0]], "constant", 2),
                    ((4,), [[2, 3]], "reflect", 0), ((3, 4), [[1, 2], [0, 3]], "symmetric", 0), ((), [], "constant", 0),
                    ((3, 4), [[2, 1], [1, 2]], "reflect", 0)],
         lambda x, w, m, v: mx.pad(x, [tuple(p) if isinstance(p, list) else p for p in w] if isinstance(w, list) and w and
                                   isinstance(w[0], list) else tuple(w) if isinstance(w, list) else w, m, v))
    grid(r, "diff", [((6,), 1, -1), ((3, 4), 1, 0), ((3, 4), 2, 1), ((3, 4), 0, 0), ((2, 3), 5, 1), ((0, 3), 1, 1)], mx.diff,
         lambda x, n, a: np.diff(wide(x), n, a), dtypes=["f32", "i32", "i64", "u8", "bool", "f64", "complex64"], compare=scale())
    r.op("view", EXACT)
    for dtype, to in [("f32", "i32"), ("f32", "u8"), ("u8", "u32"), ("f16", "u16"), ("bf16", "i8"), ("i64", "f64"),
                      ("complex64", "f32"), ("u64", "complex64"), ("i8", "u8"), ("f64", "u16"), ("u8", "i64")]:
        rng = generator("view", dtype, to)
        for shape, layout in [((3, 8), "plain"), ((2, 8), "offset"), ((2, 3), "transposed")]:
            r.case("view", [Given(draw(rng, shape, dtype), layout), D(to)], mx.view, lambda x, d: x.view(d))
    r.op("slice", EXACT)
    r.op("slice_update", EXACT)
    for dtype in ["f32", "i32", "f16", "bool", "complex64"]:
        rng = generator("slice", dtype)
        for shape, starts, axes, size in [((4, 5), [1, 2], [0, 1], [2, 3]), ((4, 5), [1], [1], [4, 2]), ((4, 5), [3], [0], [1, 5]),
                                          ((6,), [0], [0], [6]), ((2, 3, 4), [1, 2], [0, 2], [1, 3, 2])]:
            x, at = Given(draw(rng, shape, dtype), LAYOUTS[len(shape) + len(starts)]), Given(np.int32(starts))
            r.case("slice", [x, at, axes, size], mx.slice)
            r.case("slice_update", [x, Given(draw(rng, size, dtype)), at, axes], mx.slice_update)


def creation(r):
    def made(name, sets, mlx, ref=None, compare=EXACT, size=None):
        r.op(name, compare)
        for args in sets:
            r.case(name, args, mlx, ref, scale=size)
    plain = [[s, D(d)] for s, d in [([2, 3], "f32"), ([], "f16"), ([0, 2], "i32"), ([3], "bool"), ([2], "complex64"),
                                    ([1, 2], "u64"), ([2, 2], "bf16"), ([2, 2], "f64")]]
    made("zeros", plain, mx.zeros, np.zeros)
    made("empty", [[s, D(d)] for s, d in [([2, 3], "f32"), ([], "f16"), ([0, 2], "i32"), ([1], "u8"), ([2], "f64")]], mx.zeros)
    made("ones", plain, mx.ones, np.ones)
    for name in ["zeros_like", "ones_like", "empty_like"]:
        call = mx.zeros_like if name == "empty_like" else getattr(mx, name)
        made(name, [[Given(draw(generator(name), (2, 3), d), "transposed"), None if k % 2 else D(ALL[-1 - k])]
                    for k, d in enumerate(ALL)], call)
    made("full", [[s, v, D(d)] for s, v, d in [([2, 3], 3, "f32"), ([2], 2.5, "f32"), ([], -1, "i8"), ([0], 1, "u8"), ([2], 7, "u64"),
                                               ([2], True, "bool"), ([1, 3], -0.5, "f16"), ([2], 3.75, "bf16"), ([2], 0.1, "f64"),
                                               ([2], 3.7, "i32"), ([3], 2.5, "complex64"), ([2], 2, "bool"), ([2], 2**63 + 5, "u64"),
                                               ([2], 2**64 - 1, "u64"), ([2], -2**63, "i64")]],
         mx.full, lambda s, v, d: np.full(s, v).astype(d) if isinstance(v, float) else np.full(s, v, d))
    for value in ["f32", "i32", "f16"]:
        x = Given(draw(generator("full", value), (3,), value))
        for d in ["f32", "i32", None]:
            r.case("full", [[2, 3], x, D(d) if d else None], mx.full, lambda s, v, d: np.full(s, v, d or v.dtype))
    r.case("full", [[2, 3], 1.5, None], mx.full)
    r.case("full", [[2, 3], 2, None], mx.full)
    r.case("full", [[2], 300, D("u8")], mx.full)
    made("full_like", [[Given(draw(generator("full_like"), (2, 3), d), "transposed"), 2, None if k % 2 else D("f32")]
                       for k, d in enumerate(ALL)], mx.full_like)
    made("arange", [[a, b, c, D(d) if d else None] for a, b, c, d in
                    [(0, 5, 1, None), (2, 9, 3, None), (5, 0, -2, None), (0.0, 1.0, 0.25, None), (1, 2, 0.3, None), (0, 4, 1, "f16"),
                     (0, 4, 1, "u8"), (3, 3, 1, None), (0, 5, 2, "f64"), (-3, 3, 1, "i8"), (5, 1, 1, None), (0, 1000, 7, "i64"),
                     (0.5, 4, 1, "bf16"), (0, 3, 1, "u64"), (0, 5, 1.5, "i32"), (0, 5, 0, None)]],
         lambda a, b, c, d: mx.arange(a, b, c, d), compare=ulps(1, 1, 1))
    made("linspace", [[a, b, n, e, D(d)] for a, b, n, e, d in
                      [(0, 1, 5, True, "f32"), (0, 1, 5, False, "f32"), (-2.5, 3, 7, True, "f32"), (1, 1, 3, True, "f32"), (0, 1, 1, True, "f32"),
                       (0, 10, 4, True, "f16"), (0, 10, 4, True, "bf16"), (0, 10, 4, True, "i32"), (5, -5, 11, True, "f32"), (0, 1, 0, True, "f32")]],
         lambda a, b, n, e, d: mx.linspace(a, b, n, e, d), lambda a, b, n, e, d: np.linspace(a, b, n, endpoint=e), ulps(4, 4, 1))
    made("eye", [[n, m, k, D(d)] for n, m, k, d in [(3, None, 0, "f32"), (2, 4, 1, "f32"), (4, 2, -1, "i32"), (0, None, 0, "f32"),
                                                     (3, 3, 5, "f16"), (2, 3, 0, "bool"), (2, None, 0, "complex64"), (2, 2, 0, "f64")]],
         mx.eye, lambda n, m, k, d: np.eye(n, m, k, d))
    made("identity", [[n, D(d)] for n, d in [(3, "f32"), (1, "i32"), (0, "f32"), (2, "f16"), (4, "complex64")]], mx.identity, np.identity)
    made("tri", [[n, m, k, D(d)] for n, m, k, d in [(3, None, 0, "f32"), (2, 4, 1, "f32"), (4, 2, -1, "i32"), (3, 3, -5, "f16"), (2, 3, 9, "u8")]],
         mx.tri, lambda n, m, k, d: np.tri(n, m, k, d))
    for name in ["bartlett", "blackman", "hamming", "hanning"]:
        # Ends that are 0 come out as a rounding error.
        made(name, [[n] for n in (1, 2, 5, 8, 51, 0)], getattr(mx, name), getattr(np, name), scale(1e-6), 1.0)


def conversions(r):
    r.op("astype", EXACT)
    for a in ALL:
        rng = generator("astype", a)
        for b in ALL:
            x = draw(rng, (3, 4), a)
            if a in SIGNED and b in ["u8", "u16", "u32", "u64"] or a in ["bool", *INTS]:
                pass
            elif b in ["u8", "u16", "u32", "u64"]:
                x = np.abs(x) if a != "complex64" else np.abs(x).astype(np.complex64)
            r.case("astype", [Given(x, "transposed"), D(b)], mx.astype)
    limits = np.array([np.nan, np.inf, -np.inf, 300.5, -3.9, 1e20, -1e20, 255.9, 2.5])
    for a in FLOATS:
        for b in ["bool", *INTS]:
            def ref(x, d):
                if d == np.bool_:
                    return x != 0
                info = np.iinfo(d)
                out = [0 if np.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v) for v in wide(x)]
                return np.array(out, d)
            r.case("astype", [Given(limits.astype(NUMPY[a])), D(b)], mx.astype, ref)
    for a in INTS:
        for b in ["bool", *INTS, "f32", "f64"]:
            r.case("astype", [Given(special(a)), D(b)], mx.astype, lambda x, d: x.astype(d))
    for a, b in [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f16", "bf16"), ("bf16", "f16"), ("f64", "f16"), ("f64", "bf16")]:
        # Odd numbers of half a step: to the even one.
        x = np.concatenate([special(a).astype(np.float64), np.array([1 + 2.0**-9, 1 + 3 * 2.0**-9, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1e-8, 65519.0, 65520.0])])
        r.case("astype", [Given(x.astype(NUMPY[a])), D(b)], mx.astype, lambda x, d: wide(x).astype(np.float32).astype(d) if x.dtype != np.float64 else x.astype(d))
    r.op("asarray", EXACT)
    for k, a in enumerate(ALL):
        r.case("asarray", [Given(draw(generator("asarray", a), (2, 3), a)), None if k % 2 else D("f32")], lambda x, d: mx.asarray(x, d))
    r.op("to_fp8", EXACT)
    r.op("from_fp8", EXACT)
    for dtype in ["f32", "f16", "bf16"]:
        rng = generator("fp8", dtype)
        for x in [draw(rng, (4, 8), dtype), draw(rng, (3,), dtype) * np.array(100).astype(NUMPY[dtype]),
                  np.array([0, -0.0, 448, 449, 464, 465, 1e4, -1e4, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 17.0, 19.0, 21.0]).astype(NUMPY[dtype])]:
            r.case("to_fp8", [Given(x)], mx.to_fp8)
        codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
        r.case("from_fp8", [Given(codes, "transposed"), D(dtype)], lambda x, d: mx.from_fp8(x, d))
        r.case("from_fp8", [Given(codes[:2], "spread"), D(dtype)], lambda x, d: mx.from_fp8(x, d))


def shapes_and_types(r):
    """Answers about shapes and dtypes: the first as integers, the second as an empty array of the dtype."""
    r.op("broadcast_shapes", EXACT)
    for sides in [[[2, 1], [3]], [[], [4]], [[5, 1, 3], [2, 1], [1]], [[0], [1]], [[2, 3], [3, 2]], [[1, 1]], [[2], [3]]]:
        r.case("broadcast_shapes", [sides], lambda p: mx.array(list(mx.broadcast_shapes(*p)), dtype=mx.int64),
               lambda p: np.array(np.broadcast_shapes(*p), np.int64))
    r.op("result_type", EXACT)
    for a in ALL:
        for b in ALL:
            r.case("result_type", [D(a), D(b)], lambda a, b: mx.zeros((0,), mx.result_type(a, b)))
    r.op("depends", EXACT)
    for k, dtype in enumerate(["f32", "i32", "f16", "bool", "complex64"]):
        rng = generator("depends", dtype)
        x, y = Given(draw(rng, (2, 3), dtype), LAYOUTS[k]), Given(draw(rng, (4,), "f32"))
        r.case("depends", [[x], [y]], lambda x, y: mx.depends(x, y), lambda x, y: x[0])


def record(r):
    shapes_and_types(r)
    shapes(r)
    joins(r)
    parts(r)
    creation(r)
    conversions(r)
