"""Quantized weights: codes are bit-exact, products are close."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale
from array_oracle.values import MLX, NUMPY, D, Given, draw, from_mlx, generator, to_mlx, wide

AFFINE = [("affine", group, bits) for group in (32, 64, 128) for bits in (2, 3, 4, 5, 6, 8)]
OTHERS = [("mxfp4", 32, 4), ("mxfp8", 32, 8), ("nvfp4", 16, 4)]
NAMES_OF = {kind: name for name, kind in MLX.items()}
CLOSE = scale(2e-5, 1e-11, 4e-3, 3e-2)


def packs(w, group, bits, mode):
    """The parts of a quantized array, or nothing where MLX refuses."""
    try:
        parts = mx.quantize(w, group, bits, mode)
        mx.eval(parts)
        return [Given(from_mlx(p)) for p in parts]
    except (ValueError, RuntimeError):
        return None


def record(r):
    r.op("quantize", EXACT)
    r.op("dequantize", EXACT)
    r.op("quantized_matmul", CLOSE)
    r.op("gather_qmm", CLOSE)
    r.op("qqmm", CLOSE)
    r.op("gather_qqmm", CLOSE)
    quantize = lambda w, g, b, m: list(mx.quantize(w, g, b, m))
    for mode, group, bits in [*AFFINE, ("affine", 32, 1), ("affine", 64, 1), ("affine", 16, 4), ("affine", 32, 7), *OTHERS, ("mxfp4", 64, 4), ("affine", None, None),
                              ("mxfp4", None, None), ("mxfp8", None, None), ("nvfp4", None, None)]:
        rng = generator("quantize", mode, str(group), str(bits))
        for dtype in ["f32", "f16", "bf16"]:
            for shape in [(4, 256), (2, 3, 128)] if dtype == "f32" else [(3, 128)]:
                w = draw(rng, shape, dtype)
                # Groups that are all equal, of one sign, and of zeros.
                w[0] = 0
                w[-1, ..., :32] = 1.5
                w[1] = np.abs(w[1])
                r.case("quantize", [Given(w, "transposed"), group, bits, mode], quantize)
                parts = packs(mx.array(w) if dtype != "bf16" else mx.array(w.astype(np.float32)).astype(mx.bfloat16), group, bits, mode)
                if parts is None:
                    continue
                biases = parts[2] if len(parts) > 2 else None
                for to in [None, "f32", "bf16"] if dtype == "f32" else [None]:
                    r.case("dequantize", [parts[0], parts[1], biases, group, bits, mode, D(to) if to else None],
                           lambda w, s, b, g, n, m, d: mx.dequantize(w, s, b, g, n, m, dtype=d))
                if mode == "affine" and group == 128 and bits in (3, 5, 6):
                    continue
                x = Given(draw(rng, (3, shape[-1]) if len(shape) == 2 else (2, 3, shape[-1]), dtype))
                def dense(w, s, b, g, n, m):
                    """The weights in f32, scales and biases converted first."""
                    s, b = (p if p is None else to_mlx(p if p.dtype == np.uint8 else p.astype(np.float32)) for p in (s, b))
                    return np.array(mx.dequantize(to_mlx(w), s, b, g, n, m, dtype=mx.float32), np.float64)

                def whole(x, w, s, b, t, g, n, m):
                    w = dense(w, s, b, g, n, m)
                    return wide(x) @ (np.swapaxes(w, -1, -2) if t else w)

                def some(x, w, s, b, i, j, t, g, n, m, _):
                    w, x = dense(w, s, b, g, n, m), wide(x)
                    x = x if i is None else x[i]
                    w = w if j is None else w[j]
                    return x @ np.swapaxes(w, -1, -2)
                product = lambda x, w, s, b, t, g, n, m: mx.quantized_matmul(x, w, s, b, t, g, n, m)
                r.case("quantized_matmul", [x, parts[0], parts[1], biases, True, group, bits, mode], product, whole)
                y = Given(draw(rng, (2, shape[-2]) if len(shape) == 2 else (2, 2, shape[-2]), dtype))
                r.case("quantized_matmul", [y, parts[0], parts[1], biases, False, group, bits, mode], product, whole)
                if len(shape) == 3:
                    left, right = Given(np.uint32([0, 1, 1])), Given(np.uint32([1, 0, 1]))
                    for i, j in [(left, right), (None, Given(np.uint32([1, 0]))), (Given(np.uint32([1, 0])), None)]:
                        r.case("gather_qmm", [x, parts[0], parts[1], biases, i, j, True, group, bits, mode, False],
                               lambda x, w, s, b, i, j, t, g, n, m, o: mx.gather_qmm(x, w, s, b, i, j, t, g, n, m, sorted_indices=o), some)
                if mode in ("nvfp4", "mxfp8"):
                    def both(x, w, s, g, n, m):
                        """Both sides through the format, and their product."""
                        with mx.stream(mx.cpu):
                            x = to_mlx(x)
                            left = mx.dequantize(*mx.quantize(x, g, n, m), group_size=g, bits=n, mode=m, dtype=mx.float32)
                            right = mx.dequantize(to_mlx(w), to_mlx(s), group_size=g, bits=n, mode=m, dtype=mx.float32)
                            return np.array(left, np.float64), np.array(right, np.float64), NUMPY[NAMES_OF[x.dtype]]

                    def plain(x, w, s, g, n, m):
                        left, right, kind = both(x, w, s, g, n, m)
                        return (left @ np.swapaxes(right, -1, -2)).astype(kind)

                    def picked(x, w, s, i, j, g, n, m):
                        left, right, kind = both(x, w, s, g, n, m)
                        return (left[i] @ np.swapaxes(right[j], -1, -2)).astype(kind)
                    if len(shape) == 2:
                        r.case("qqmm", [x, parts[0], parts[1], group, bits, mode], None, plain, departure="quantized-both")
                    else:
                        for i, j in [(left, right), (right, right), (Given(np.uint32([[1], [0]])), Given(np.uint32([[0, 1]])))]:
                            r.case("gather_qqmm", [x, parts[0], parts[1], i, j, group, bits, mode], None, picked, departure="quantized-both")
    rng = generator("quantize", "wrong")
    for shape in [(4, 100), (2, 31)]:
        r.case("quantize", [Given(draw(rng, shape, "f32")), 64, 4, "affine"], quantize)
    r.case("quantize", [Given(draw(rng, (2, 64), "f32")), 64, 4, "other"], quantize)
