"""Linear algebra and Fourier transforms."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale
from array_oracle.record import Refused
from array_oracle.values import LAYOUTS, NUMPY, Given, draw, generator, wide

CLOSE = scale(2e-5, 1e-11)
DTYPES = ["f32", "f64"]
SHAPES = [(3, 3), (1, 1), (2, 4, 4), (5, 5), (2, 1, 3, 3), (12, 12)]


def well(rng, shape, dtype):
    """Matrices that are far from singular."""
    return (draw(rng, shape, dtype, "unit") + shape[-1] * np.eye(shape[-2], shape[-1])).astype(NUMPY[dtype])


def positive(rng, shape, dtype):
    a = draw(rng, shape, "f64", "unit")
    return (a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])).astype(NUMPY[dtype])


def symmetric(rng, shape, dtype):
    a = draw(rng, shape, "f64")
    return ((a + np.swapaxes(a, -1, -2)) / 2).astype(NUMPY[dtype])


def square(r, name, make, mlx, ref, *rest, compare=CLOSE, kind="values", dtypes=DTYPES, extra=()):
    r.op(name, compare, kind)
    for dtype in dtypes:
        rng = generator(name, dtype)
        for k, shape in enumerate([*SHAPES, *extra]):
            for more in rest or [[]]:
                r.case(name, [Given(make(rng, shape, dtype), LAYOUTS[k % 6 if k % 6 != 4 else 1]), *more], mlx, ref)


def algebra(r):
    la = mx.linalg
    def refused(f):
        def run(*args):
            try:
                return f(*args)
            except np.linalg.LinAlgError as why:
                raise Refused(str(why)) from why
        return run
    square(r, "linalg.inv", well, la.inv, refused(lambda x: np.linalg.inv(wide(x))))
    square(r, "linalg.det", well, la.det, lambda x: np.linalg.det(wide(x)), extra=[(0, 0), (0, 2, 2)])
    square(r, "linalg.slogdet", well, la.slogdet, lambda x: list(np.linalg.slogdet(wide(x))))
    square(r, "linalg.pinv", lambda rng, s, d: well(rng, (*s[:-1], s[-1] + 1), d), la.pinv, lambda x: np.linalg.pinv(wide(x)))
    for upper in [False, True]:
        square(r, "linalg.cholesky", positive, la.cholesky, refused(lambda x, u: np.linalg.cholesky(wide(x), upper=u)), [upper])
        square(r, "linalg.cholesky_inv", lambda rng, s, d: np.linalg.cholesky(positive(rng, s, "f64")).astype(NUMPY[d]) if not upper else
               np.linalg.cholesky(positive(rng, s, "f64"), upper=True).astype(NUMPY[d]), la.cholesky_inv,
               lambda x, u: np.linalg.inv(np.swapaxes(wide(x), -1, -2) @ wide(x) if u else wide(x) @ np.swapaxes(wide(x), -1, -2)), [upper])
        square(r, "linalg.tri_inv", lambda rng, s, d: (np.triu if upper else np.tril)(well(rng, s, d)), la.tri_inv,
               lambda x, u: np.linalg.inv(wide(x)), [upper])
    for bad in [[[1, 2], [2, 1]], [[-1, 0], [0, 1]], [[0, 0], [0, 0]]]:
        r.case("linalg.cholesky", [Given(np.float32(bad)), False], la.cholesky, refused(lambda x, u: np.linalg.cholesky(x)))
    r.case("linalg.inv", [Given(np.zeros((2, 2), np.float32))], la.inv, refused(lambda x: np.linalg.inv(x)))
    square(r, "linalg.qr", lambda rng, s, d: draw(rng, s, d), la.qr, None, kind="qr", extra=[(5, 3), (3, 5)])
    square(r, "linalg.svd", lambda rng, s, d: draw(rng, s, d), la.svd, None, [True], kind="svd", extra=[(5, 3), (3, 5)])
    for dtype in DTYPES:
        rng = generator("svd values", dtype)
        for shape in [(3, 3), (5, 3), (2, 3, 4)]:
            r.case("linalg.svd", [Given(draw(rng, shape, dtype)), False], la.svd, lambda x, _: np.linalg.svd(wide(x), compute_uv=False), kind="values")
    for side in ["L", "U"]:
        square(r, "linalg.eigh", symmetric, la.eigh, None, [side], kind="eigh")
        square(r, "linalg.eigvalsh", symmetric, la.eigvalsh, lambda x, s: np.linalg.eigvalsh(wide(x), s), [side])
    square(r, "linalg.eig", lambda rng, s, d: draw(rng, s, d), la.eig, None, kind="eig", compare=scale(1e-4), dtypes=["f32"])
    square(r, "linalg.eigvals", lambda rng, s, d: draw(rng, s, d), la.eigvals, None, kind="eigvals", compare=scale(1e-4), dtypes=["f32"])
    square(r, "linalg.lu", well, la.lu, None, extra=[(3, 5), (5, 3)])
    square(r, "linalg.lu_factor", well, la.lu_factor, None)
    r.op("linalg.solve", CLOSE)
    r.op("linalg.solve_triangular", CLOSE)
    for dtype in DTYPES:
        rng = generator("solve", dtype)
        for k, (a, b) in enumerate([((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((1, 1), (1, 1)), ((12, 12), (12, 5)), ((2, 3), (2,))]):
            x, y = Given(well(rng, a, dtype), LAYOUTS[k % 4]), Given(draw(rng, b, dtype))
            r.case("linalg.solve", [x, y], la.solve, refused(lambda a, b: np.linalg.solve(wide(a), wide(b))))
            for upper in [False, True]:
                if a[-1] != a[-2]:
                    continue
                t = Given((np.triu if upper else np.tril)(x.array))
                r.case("linalg.solve_triangular", [t, y, upper], lambda a, b, u: la.solve_triangular(a, b, upper=u),
                       lambda a, b, u: np.linalg.solve(wide(a), wide(b)))
    r.op("linalg.cross", scale(4e-6))
    for dtype in ["f32", "f64", "f16", "i32"]:
        rng = generator("cross", dtype)
        for k, (a, b, axis) in enumerate([((3,), (3,), -1), ((4, 3), (4, 3), -1), ((3, 4), (3, 4), 0), ((2, 4, 3), (3,), -1), ((2,), (2,), -1), ((4,), (4,), -1)]):
            r.case("linalg.cross", [Given(draw(rng, a, dtype), LAYOUTS[k % 4]), Given(draw(rng, b, dtype)), axis], la.cross)
    for name in ["linalg.norm", "matrix_norm"]:
        r.op(name, scale(2e-5, 1e-11, 3e-3, 2e-2))
        for dtype in ["f32", "f64", "f16", "bf16", "complex64"] if name == "linalg.norm" else ["f32"]:
            rng = generator("norm", dtype)
            sets = [((5,), None, None), ((3, 4), None, None), ((2, 3, 4), None, None), ((5,), 1, None), ((5,), 2, None), ((5,), np.inf, None), ((5,), -np.inf, None),
                    ((5,), 0, None), ((5,), 3, None), ((3, 4), "fro", None), ((3, 4), 1, None), ((3, 4), -1, None), ((3, 4), np.inf, None), ((3, 4), 2, 1),
                    ((3, 4), 1, 0), ((2, 3, 4), "fro", [1, 2]), ((2, 3, 4), np.inf, [0, -1])]
            if dtype in ("f32", "f64"):
                sets += [((3, 4), 2, None), ((3, 4), -2, None), ((3, 4), "nuc", None)]
            for k, (shape, order, axis) in enumerate(sets):
                for keep in [False, True] if dtype == "f32" else [k % 2 == 0]:
                    # The order of MLX's function: a, ord, axis, keepdims.
                    r.case(name, [Given(draw(rng, shape, dtype), LAYOUTS[k % 4]), order, axis, keep],
                           lambda x, o, a, k: la.norm(x, o, a, k), lambda x, o, a, k: np.linalg.norm(wide(x), o, tuple(a) if isinstance(a, list) else a, k))


def fourier(r):
    f = mx.fft
    close = scale(4e-6, 1e-11)
    for name in ["fft", "ifft", "rfft", "irfft"]:
        r.op(f"fft.{name}", close)
        for dtype in ["f32", "complex64", "f16", "i32"]:
            if name == "rfft" and dtype == "complex64":
                continue
            rng = generator(name, dtype)
            sets = [((8,), None, -1), ((3, 5), None, -1), ((3, 5), None, 0), ((6,), 4, -1), ((6,), 9, -1), ((2, 3, 4), 7, 1), ((2,), None, 0)]
            if dtype in ("f32", "complex64"):
                sets += [((1,), None, -1) if name != "irfft" else ((2,), None, -1), ((31,), None, -1), ((4, 128), None, -1), ((2, 1000), None, -1), ((0, 4), None, -1)]
            for k, (shape, n, axis) in enumerate(sets):
                for norm in ["backward", "ortho", "forward"] if k < 2 else ["backward"]:
                    r.case(f"fft.{name}", [Given(draw(rng, shape, dtype), LAYOUTS[k % 6]), n, axis, norm], lambda x, n, a, o: getattr(f, name)(x, n, a, o),
                           lambda x, n, a, o: getattr(np.fft, name)(wide(x).astype(np.complex128) if name == "irfft" else wide(x), n, a, o))
    for name in ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]:
        r.op(f"fft.{name}", close)
        for dtype in ["f32", "complex64"]:
            if name[0] == "r" and dtype == "complex64":
                continue
            rng = generator(name, dtype)
            two = [-2, -1]
            sets = [((4, 6), None, two), ((3, 4, 5), None, two), ((4, 6), [3, 5], two), ((3, 4, 5), [4, 6], [0, 2]), ((3, 5), [6, 8], two), ((2, 3, 4), None, [0, 1])]
            if name.endswith("n"):
                sets += [((3, 4, 5), None, None), ((3, 4, 5), None, [0, 1, 2]), ((6,), None, None), ((2, 3, 4), [2, 4, 4], [0, 1, 2])]
            for k, (shape, size, axes) in enumerate(sets):
                for norm in ["backward", "ortho", "forward"] if k < 2 else ["backward"]:
                    r.case(f"fft.{name}", [Given(draw(rng, shape, dtype), LAYOUTS[k % 6]), size, axes, norm], lambda x, s, a, o: getattr(f, name)(x, s, a, o),
                           lambda x, s, a, o: getattr(np.fft, name)(wide(x), s, a if a is not None or s is None else list(range(x.ndim - len(s), x.ndim)), o))
    for name in ["fftshift", "ifftshift"]:
        r.op(f"fft.{name}", EXACT)
        for dtype in ["f32", "complex64", "i32"]:
            rng = generator(name, dtype)
            for k, (shape, axes) in enumerate([((5,), None), ((4,), None), ((3, 4), None), ((3, 4), [1]), ((2, 3, 5), [0, 2]), ((3, 4), [-1])]):
                r.case(f"fft.{name}", [Given(draw(rng, shape, dtype), LAYOUTS[k % 6]), axes], getattr(f, name), getattr(np.fft, name))
    for name in ["fftfreq", "rfftfreq"]:
        r.op(f"fft.{name}", scale(1e-6))
        for n, d in [(8, 1.0), (7, 1.0), (5, 0.1), (1, 2.0), (16, 0.25), (0, 1.0)]:
            r.case(f"fft.{name}", [n, d], getattr(f, name), getattr(np.fft, name) if n else None)
    r.op("fft.stft", close)
    r.op("fft.istft", scale(2e-5))
    rng = generator("stft")
    for k, (shape, n, hop, size, window, center, pad, norm, one) in enumerate([
            ((64,), 16, None, None, False, True, "reflect", "backward", None), ((64,), 16, 4, None, True, True, "reflect", "backward", None),
            ((2, 50), 16, 8, 12, True, False, "reflect", "backward", None), ((64,), 16, 8, None, False, True, "constant", "ortho", None),
            ((64,), 15, 5, None, True, True, "edge", "backward", None), ((64,), 16, 8, 16, True, True, "reflect", "forward", False),
            ((2, 3, 40), 8, 2, None, True, True, "reflect", "backward", True)]):
        x = Given(draw(rng, shape, "f32"), LAYOUTS[k % 4])
        w = Given(np.hanning((size or n) + 1)[:-1].astype(np.float32)) if window else None
        rest = [n, hop, size, w, center]
        r.case("fft.stft", [x, *rest, pad, norm, one], lambda *a: f.stft(*a))
        try:
            spectrum = f.stft(mx.array(x.array), n, hop, size, None if w is None else mx.array(w.array), center, pad, norm, one)
            mx.eval(spectrum)
        except (ValueError, RuntimeError):
            continue
        for length in [None, shape[-1]]:
            args = [Given(np.array(spectrum)), n, hop, size, w, center, norm, one, length]
            r.case("fft.istft", args, lambda x, n, h, s, w, c, o, one, length: f.istft(x, n, h, s, w, c, o, one, length))


def record(r):
    algebra(r)
    fourier(r)
