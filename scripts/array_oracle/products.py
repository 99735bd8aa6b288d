"""Products of matrices, contractions, and convolutions."""

import itertools

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale
from array_oracle.record import Refused, Unknown
from array_oracle.values import FLOATS, HALVES, INEXACT, INTS, LAYOUTS, NUMPY, Given, draw, generator, wide

CLOSE = scale(4e-6, 1e-12, 2e-3, 1.5e-2)
DTYPES = ["f32", "f16", "bf16", "f64", "complex64"]


def whole(x):
    return wide(x).astype(np.float64) if x.dtype.kind in "biu" else wide(x)


def matrices(r):
    pairs = [((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
             ((2, 1, 3, 4), (3, 4, 2)), ((1, 1), (1, 1)), ((0, 4), (4, 3)), ((3, 0), (0, 2)), ((2, 0, 3), (2, 3, 4)), ((3, 4), (3, 4)),
             ((17, 33), (33, 19)), ((70, 90), (90, 80)), ((), (2,)), ((5, 1), (1, 6)), ((3, 2, 4), (4, 1))]
    r.op("matmul", CLOSE)
    for d, dtype in enumerate(DTYPES):
        rng = generator("matmul", dtype)
        for k, (a, b) in enumerate(pairs):
            if dtype == "f32" or k % 4 == d - 1 or k < 2:
                args = [Given(draw(rng, a, dtype), LAYOUTS[(k + d) % 6]), Given(draw(rng, b, dtype), LAYOUTS[(k + 1) % 6])]
                size = lambda a, b: np.max(np.matmul(np.abs(whole(a)), np.abs(whole(b))), initial=0.0) if a.ndim and b.ndim and a.shape[-1] == (b.shape[-2] if b.ndim > 1 else b.shape[0]) else 0.0
                r.case("matmul", args, mx.matmul, lambda a, b: np.matmul(whole(a), whole(b)), scale=size)
    rng = generator("matmul", "ints")
    r.case("matmul", [Given(draw(rng, (2, 3), "i32")), Given(draw(rng, (3, 2), "f16"))], mx.matmul)
    r.op("addmm", CLOSE)
    for d, dtype in enumerate(DTYPES):
        rng = generator("addmm", dtype)
        for k, (c, a, b) in enumerate([((3, 5), (3, 4), (4, 5)), ((5,), (3, 4), (4, 5)), ((), (2, 3, 4), (4, 2)), ((3, 1), (2, 3, 4), (2, 4, 5)),
                                       ((2, 2), (2, 0), (0, 2))]):
            for alpha, beta in [(1.0, 1.0), (0.5, -2.0)]:
                args = [Given(draw(rng, c, dtype)), Given(draw(rng, a, dtype), LAYOUTS[(k + d) % 6]), Given(draw(rng, b, dtype)), alpha, beta]
                r.case("addmm", args, lambda c, a, b, x, y: mx.addmm(c, a, b, alpha=x, beta=y),
                       lambda c, a, b, x, y: x * (wide(a) @ wide(b)) + y * wide(c))
    two = {
        "inner": (mx.inner, lambda a, b: np.inner(whole(a), whole(b)), [((4,), (4,)), ((3, 4), (4,)), ((2, 3), (4, 3)), ((), (2,)), ((2, 2, 3), (3,)), ((0,), (0,))]),
        "outer": (mx.outer, lambda a, b: np.outer(whole(a), whole(b)), [((4,), (3,)), ((2, 3), (2,)), ((), (2,)), ((0,), (3,)), ((1,), (1,))]),
        "kron": (mx.kron, lambda a, b: np.kron(whole(a), whole(b)), [((2, 3), (3, 2)), ((2,), (3,)), ((2, 2), (3,)), ((), (2,)), ((1, 2, 3), (2, 2))]),
    }
    for name, (mlx, ref, sets) in two.items():
        r.op(name, CLOSE)
        for d, dtype in enumerate([*DTYPES, "i32"]):
            rng = generator(name, dtype)
            for k, (a, b) in enumerate(sets):
                if dtype == "i32" and name == "inner":
                    continue
                r.case(name, [Given(draw(rng, a, dtype), LAYOUTS[(k + d) % 6]), Given(draw(rng, b, dtype), LAYOUTS[(k + 2) % 6])], mlx, ref)
    r.op("vecdot", CLOSE)
    r.op("tensordot", CLOSE)
    for d, dtype in enumerate(DTYPES):
        rng = generator("vecdot", dtype)
        for k, (a, b, axis) in enumerate([((4,), (4,), -1), ((3, 4), (3, 4), 0), ((2, 3, 4), (2, 3, 4), -1), ((2, 0), (2, 0), 1), ((3, 1), (3, 4), 0)]):
            r.case("vecdot", [Given(draw(rng, a, dtype), LAYOUTS[(k + d) % 6]), Given(draw(rng, b, dtype)), axis],
                   lambda a, b, x: mx.vecdot(a, b, axis=x), lambda a, b, x: np.vecdot(wide(a), wide(b), axis=x))
        for k, (a, b, axes) in enumerate([((2, 3, 4), (3, 4, 5), 2), ((2, 3), (2, 3), [[0], [0]]), ((2, 3, 4), (4, 2), [[0, 2], [1, 0]]), ((2,), (3,), 0),
                                          ((3, 4), (4,), 1), ((2, 3), (4, 5), 1), ((2, 3), (3, 2), [[-1], [0]])]):
            r.case("tensordot", [Given(draw(rng, a, dtype), LAYOUTS[(k + d) % 6]), Given(draw(rng, b, dtype)), axes], mx.tensordot,
                   lambda a, b, x: np.tensordot(wide(a), wide(b), x))


def einsum(r):
    sets = [("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
            ("i,j->ij", (2,), (3,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
            ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("ij,ij->i", (2, 3), (2, 3)), ("abc,cd->abd", (2, 3, 4), (4, 5)), ("ijk->kij", (2, 3, 4)),
            ("i,i->", (4,), (4,)), ("ij,kj", (2, 3), (4, 3)), ("abc,abd,ae->ecd", (2, 3, 4), (2, 3, 2), (2, 5)), ("iij->ij", (3, 3, 2)),
            ("ij,j->", (2, 3), (3,)), ("ij,jk", (2, 3), (4, 5)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("...->...", (2, 3)),
            ("i,ij,j->", (2,), (2, 3), (3,)), ("ij,jk->ikz", (2, 3), (3, 4)), ("i", (3,))]
    r.op("einsum", CLOSE)
    for d, dtype in enumerate(DTYPES):
        rng = generator("einsum", dtype)
        for k, (text, *shapes) in enumerate(sets):
            if dtype == "f32" or k % 4 == d - 1:
                parts = [Given(draw(rng, shape, dtype), LAYOUTS[(k + d + n) % 6]) for n, shape in enumerate(shapes)]
                size = lambda t, p: np.max(np.einsum(t, *[np.abs(wide(x)) for x in p]), initial=0.0) if t not in ("ij,jk->ikz",) and (t, p[0].shape) != ("ij,jk", (2, 3)) else 0.0
                r.case("einsum", [text, parts], lambda t, p: mx.einsum(t, *p), lambda t, p: np.einsum(t, *[wide(x) for x in p]), scale=size)
    r.op("einsum_path", EXACT)
    rng = generator("einsum_path")
    for text, *shapes in [s for s in sets if len(s) > 2 and s[0] not in ("ij,jk->ikz",)]:
        parts = [Given(draw(rng, shape, "f32")) for shape in shapes]
        def path(t, p):
            return [mx.array(list(step), dtype=mx.int64) for step in mx.einsum_path(t, *p)[0]]
        r.case("einsum_path", [text, parts], path)


def dense_convolution(x, w, stride, padding, dilation, spread, groups, flip):
    """The definition in f64: windows of a padded, spread input times the kernel, per group. [N, …, C] and [O, …, C / groups]."""
    x, w = wide(x), wide(w)
    n = x.ndim - 2
    every = lambda v: [v] * n if isinstance(v, int) else list(v)
    stride, dilation, spread = every(stride), every(dilation), every(spread)
    low, high = (every(p) for p in padding) if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)) else (every(padding),) * 2
    if flip:
        w = np.flip(w, tuple(range(1, n + 1)))
    sizes = [(size - 1) * f + 1 for size, f in zip(x.shape[1:-1], spread)]
    wide_x = np.zeros((x.shape[0], *[a + b + c for a, b, c in zip(low, sizes, high)], x.shape[-1]))
    wide_x[(slice(None), *[slice(a, a + b, f) for a, b, f in zip(low, sizes, spread)], slice(None))] = x
    out = [(b - (k - 1) * d - 1) // s + 1 for b, k, d, s in zip(wide_x.shape[1:-1], w.shape[1:-1], dilation, stride)]
    if x.shape[-1] != w.shape[-1] * groups or w.shape[0] % groups or min(out, default=1) <= 0:
        raise Refused("shapes")
    result = np.zeros((x.shape[0], *out, w.shape[0]))
    per, made = w.shape[-1], w.shape[0] // groups
    for at in itertools.product(*[range(k) for k in w.shape[1:-1]]):
        part = wide_x[(slice(None), *[slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, o, s in zip(at, dilation, out, stride)], slice(None))]
        for g in range(groups):
            kernel = w[(slice(g * made, (g + 1) * made), *at, slice(None))]
            result[..., g * made:(g + 1) * made] += part[..., g * per:(g + 1) * per] @ kernel.T
    return result


def dense_transposed(x, w, stride, padding, dilation, more, groups):
    """Each element's kernel added where it lands. Kernels are [O, …, C / groups]."""
    x, w = wide(x), wide(w)
    n = x.ndim - 2
    every = lambda v: [v] * n if isinstance(v, int) else list(v)
    stride, padding, dilation, more = map(every, (stride, padding, dilation, more))
    if x.shape[-1] != w.shape[-1] * groups or w.shape[0] % groups:
        raise Refused("shapes")
    full = [(i - 1) * s + (k - 1) * d + 1 + m for i, s, k, d, m in zip(x.shape[1:-1], stride, w.shape[1:-1], dilation, more)]
    result = np.zeros((x.shape[0], *full, w.shape[0]))
    per, made = w.shape[-1], w.shape[0] // groups
    for at in itertools.product(*[range(k) for k in w.shape[1:-1]]):
        place = tuple(slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, o, s in zip(at, dilation, x.shape[1:-1], stride))
        for g in range(groups):
            kernel = w[(slice(g * made, (g + 1) * made), *at, slice(None))]
            result[(slice(None), *place, slice(g * made, (g + 1) * made))] += x[..., g * per:(g + 1) * per] @ kernel.T
    cut = tuple(slice(p, size - p) for p, size in zip(padding, full))
    return result[(slice(None), *cut, slice(None))]


def convolutions(r):
    shapes = {1: ((2, 9), (3,)), 2: ((2, 7, 6), (3, 2)), 3: ((1, 5, 4, 5), (2, 3, 2))}
    for n, (space, kernel) in shapes.items():
        one = lambda v: v if n == 1 else [v] * n
        r.op(f"conv{n}d", CLOSE)
        r.op(f"conv_transpose{n}d", CLOSE)
        mlx = getattr(mx, f"conv{n}d")
        back = getattr(mx, f"conv_transpose{n}d")
        pair = lambda v: tuple(v) if isinstance(v, list) else v
        for d, dtype in enumerate(["f32", "f16", "bf16", "f64"]):
            rng = generator("conv", n, dtype)
            sets = [(4, 4, 1, 0, 1, 1), (2, 3, 2, 1, 1, 1), (4, 6, one(1), one(1), one(2), 2), (4, 4, 1, 1, 1, 4), (1, 1, 2, 0, 1, 1), (6, 3, 1, 2, 1, 3),
                    (3, 4, 1, 0, 1, 2)]
            for k, (c, o, stride, padding, dilation, groups) in enumerate(sets):
                if dtype != "f32" and k % 2 != d % 2:
                    continue
                x = Given(draw(rng, (*space, c), dtype), LAYOUTS[(k + d) % 4])
                w = Given(draw(rng, (o, *kernel, max(c // groups, 1)), dtype))
                r.case(f"conv{n}d", [x, w, stride, padding, dilation, groups],
                       lambda x, w, s, p, d, g: mlx(x, w, pair(s), pair(p), pair(d), g),
                       lambda x, w, s, p, d, g: dense_convolution(x, w, s, p, d, 1, g, False))
                more = 1 if stride == 2 and k % 2 else 0
                r.case(f"conv_transpose{n}d", [x, w, stride, padding, dilation, more, groups],
                       lambda x, w, s, p, d, m, g: back(x, w, pair(s), pair(p), pair(d), m, g),
                       lambda x, w, s, p, d, m, g: dense_transposed(x, w, s, p, d, m, g))
    r.op("conv_general", CLOSE)
    for d, dtype in enumerate(["f32", "f16", "f64"]):
        rng = generator("conv_general", dtype)
        for k, (space, kernel, c, o, *rest) in enumerate([
                ((2, 9), (3,), 2, 3, 1, 0, 1, 1, 1, False), ((2, 9), (3,), 2, 3, 2, [[1], [2]], 1, 2, 1, True),
                ((1, 6, 7), (2, 3), 4, 2, [1, 2], [1, 0], [2, 1], [1, 2], 2, False), ((1, 6, 7), (2, 3), 2, 2, 1, [[0, 2], [1, 1]], 1, 1, 1, True),
                ((1, 4, 4, 4), (2, 2, 2), 2, 2, 1, 1, 1, 2, 1, False), ((2, 12), (4,), 3, 3, 3, 2, 1, 1, 3, True)]):
            x, w = Given(draw(rng, (*space, c), dtype), LAYOUTS[k % 4]), Given(draw(rng, (o, *kernel, c // rest[4]), dtype))
            tup = lambda p: tuple(p) if isinstance(p, list) and isinstance(p[0], list) else p
            r.case("conv_general", [x, w, *rest], lambda x, w, s, p, d, i, g, f: mx.conv_general(x, w, s, tup(p), d, i, g, f), dense_convolution)
    r.op("convolve", CLOSE)
    for dtype in ["f32", "f16", "bf16", "f64"]:
        rng = generator("convolve", dtype)
        for a, b in [(7, 3), (3, 7), (1, 1), (5, 5), (8, 2)]:
            for mode in ["full", "same", "valid"]:
                r.case("convolve", [Given(draw(rng, (a,), dtype), "reversed"), Given(draw(rng, (b,), dtype), "spread"), mode], mx.convolve,
                       lambda a, v, m: np.convolve(wide(a), wide(v), m))


def gathered(r):
    r.op("gather_mm", CLOSE)
    for dtype in ["f32", "f16", "bf16"]:
        rng = generator("gather_mm", dtype)
        a, b = Given(draw(rng, (3, 2, 4), dtype)), Given(draw(rng, (5, 4, 3), dtype), "transposed")
        left, right = Given(np.uint32([0, 2, 1, 1])), Given(np.uint32([4, 0, 0, 3]))
        for args in [[a, b, left, right, False], [a, b, None, Given(np.uint32([1, 2, 3])), True], [a, b, Given(np.uint32([0, 1, 2, 0, 1])), None, False],
                     [a, b, Given(np.uint32([[0], [2]])), Given(np.uint32([[1, 4]])), False]]:
            def ref(a, b, i, j, _):
                i = np.arange(a.shape[0]) if i is None else i
                j = np.arange(b.shape[0]) if j is None else j
                return wide(a)[i] @ wide(b)[j]
            r.case("gather_mm", args, lambda a, b, i, j, s: mx.gather_mm(a, b, i, j, sorted_indices=s), ref)
    r.op("segmented_mm", CLOSE)
    for dtype in ["f32", "f16", "bf16"]:
        rng = generator("segmented_mm", dtype)
        a, b = Given(draw(rng, (3, 10), dtype)), Given(draw(rng, (10, 4), dtype))
        for segments in [[[0, 4], [4, 10]], [[0, 10]], [[2, 2], [3, 9], [0, 1]], [[[0, 5]], [[5, 10]]]]:
            r.case("segmented_mm", [a, b, Given(np.uint32(segments))], lambda a, b, s: mx.segmented_mm(a, b, segments=s),
                   lambda a, b, s: np.stack([wide(a)[:, i:j] @ wide(b)[i:j] for i, j in s.reshape(-1, 2)]).reshape(*s.shape[:-1], 3, 4))
    r.op("block_masked_mm", CLOSE)
    for dtype in ["f32"]:
        rng = generator("block_masked_mm", dtype)
        for size, m, k, n in [(32, 40, 64, 70), (64, 64, 64, 64), (64, 10, 130, 20)]:
            a, b = Given(draw(rng, (m, k), dtype)), Given(draw(rng, (k, n), dtype))
            blocks = lambda x, y: Given(rng.integers(0, 2, (-(-x // size), -(-y // size))).astype(bool))
            full = lambda mask, shape: np.kron(mask, np.ones((size, size)))[:shape[0], :shape[1]]
            for out, left, right in [(blocks(m, n), None, None), (None, blocks(m, k), blocks(k, n)), (None, None, None), (blocks(m, n), blocks(m, k), blocks(k, n))]:
                def ref(a, b, _, out, left, right):
                    a, b = (wide(x) if mask is None else wide(x) * full(mask, x.shape) for x, mask in ((a, left), (b, right)))
                    return a @ b if out is None else (a @ b) * full(out, (m, n))
                r.case("block_masked_mm", [a, b, size, out, left, right],
                       lambda a, b, s, o, l, r_: mx.block_masked_mm(a, b, s, o, l, r_), ref)
    r.op("hadamard_transform", scale(4e-6, 1e-12, 3e-3, 2e-2))
    for dtype in ["f32", "f16", "bf16"]:
        rng = generator("hadamard", dtype)
        for shape, factor in [((2, 8), None), ((3, 16), 0.5), ((1, 12), None), ((2, 20), None), ((2, 28), 1.0), ((4, 1), None), ((2, 64), None), ((2, 10), None)]:
            r.case("hadamard_transform", [Given(draw(rng, shape, dtype), "transposed"), factor], mx.hadamard_transform)


def record(r):
    matrices(r)
    einsum(r)
    convolutions(r)
    gathered(r)
