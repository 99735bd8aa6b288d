"""The functions of mlx.core.fast."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import scale
from array_oracle.record import Unknown
from array_oracle.values import LAYOUTS, NUMPY, Given, draw, generator, wide

CLOSE = scale(1e-5, 1e-11, 2e-3, 1.5e-2)
DTYPES = ["f32", "f16", "bf16"]


def norms(r):
    f = mx.fast
    r.op("fast.rms_norm", CLOSE)
    r.op("fast.layer_norm", CLOSE)
    for d, dtype in enumerate([*DTYPES, "f64"]):
        rng = generator("norm", dtype)
        for k, shape in enumerate([(3, 8), (2, 3, 16), (5,), (1, 1), (0, 4), (33, 130)]):
            x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
            w, b = (Given(draw(rng, shape[-1:], dtype)) for _ in range(2))
            for weight, bias, eps in [(w, b, 1e-5), (w, None, 1e-3), (None, None, 1e-5), (None, b, 1e-5)]:
                def layer(x, w, b, eps):
                    x = wide(x)
                    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
                    return y * (1 if w is None else wide(w)) + (0 if b is None else wide(b))
                def rms(x, w, eps):
                    x = wide(x)
                    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * (1 if w is None else wide(w))
                r.case("fast.layer_norm", [x, weight, bias, eps], f.layer_norm, layer)
                if bias is not b:
                    r.case("fast.rms_norm", [x, weight, eps], f.rms_norm, rms)


def rope(r):
    r.op("fast.rope", scale(2e-5, 1e-11, 3e-3, 2e-2))
    for d, dtype in enumerate(DTYPES):
        rng = generator("rope", dtype)
        for k, (shape, dims) in enumerate([((2, 3, 5, 8), 8), ((1, 2, 4, 16), 8), ((2, 4, 6), 6), ((1, 1, 1, 4), 4), ((2, 0, 3, 4), 4)]):
            x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
            freqs = Given(np.float32(100.0 ** (np.arange(dims // 2) / (dims // 2))))
            for traditional in [False, True]:
                for base, size, offset, given in [(10000.0, 1.0, 0, None), (500.0, 0.5, 7, None), (None, 1.0, 3, freqs),
                                                  (10000.0, 1.0, Given(np.int32(4)), None), (10000.0, 1.0, Given(np.arange(shape[0], dtype=np.int32) * 3), None)]:
                    def ref(x, dims, traditional, base, size, offset, freqs):
                        y = wide(x)
                        t = y.shape[-2]
                        offset = np.asarray(offset).reshape(-1, *[1] * (y.ndim - 2)).astype(np.float64)
                        rates = base ** (-np.arange(dims // 2) / (dims // 2)) if freqs is None else 1 / wide(freqs)
                        angle = ((np.arange(t) + offset) * size)[..., None] * rates
                        if y.ndim == 3:
                            angle = angle.reshape(-1, t, dims // 2)
                        cos, sin = np.cos(angle), np.sin(angle)
                        a, b = (y[..., 0:dims:2], y[..., 1:dims:2]) if traditional else (y[..., :dims // 2], y[..., dims // 2:dims])
                        one, two = a * cos - b * sin, a * sin + b * cos
                        turned = np.stack([one, two], -1).reshape(*y.shape[:-1], dims) if traditional else np.concatenate([one, two], -1)
                        return np.concatenate([turned, y[..., dims:]], -1)
                    r.case("fast.rope", [x, dims, traditional, base, size, offset, given],
                           lambda x, n, t, b, s, o, f: mx.fast.rope(x, n, traditional=t, base=b, scale=s, offset=o, freqs=f), ref)


def attention(r):
    op = "fast.scaled_dot_product_attention"
    r.op(op, scale(1e-5, 1e-11, 3e-3, 2e-2))
    for d, dtype in enumerate(DTYPES):
        rng = generator("attention", dtype)
        for k, (b, heads, groups, s, t, size, out) in enumerate([(2, 4, 4, 3, 3, 8, 8), (1, 4, 2, 3, 5, 8, 8), (2, 4, 1, 1, 6, 16, 16), (1, 2, 2, 4, 4, 8, 4), (1, 2, 1, 6, 6, 64, 64)]):
            q, key = Given(draw(rng, (b, heads, s, size), dtype), LAYOUTS[(k + d) % 4]), Given(draw(rng, (b, groups, t, size), dtype))
            v = Given(draw(rng, (b, groups, t, out), dtype), LAYOUTS[(k + 1) % 4])
            bools = rng.integers(0, 2, (s, t)).astype(bool)
            bools[:, 0] = True
            for mask, sinks in [(None, None), ("causal", None), (Given(bools), None), (Given(draw(rng, (b, 1, s, t), dtype)), None),
                                (None, Given(draw(rng, (heads,), dtype))), ("causal", Given(draw(rng, (heads,), dtype)))]:
                def ref(q, k, v, size, mask, sinks):
                    q, k, v = (wide(x) for x in (q, k, v))
                    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
                    scores = size * q @ np.swapaxes(k, -1, -2)
                    if isinstance(mask, str):
                        mask = np.tril(np.ones(scores.shape[-2:], bool), scores.shape[-1] - scores.shape[-2])
                    if mask is not None:
                        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + wide(mask)
                    if sinks is not None:
                        sink = np.broadcast_to(wide(sinks)[None, :, None, None], (*scores.shape[:-1], 1))
                        scores = np.concatenate([scores, sink], -1)
                    e = np.exp(scores - scores.max(-1, keepdims=True))
                    p = e / e.sum(-1, keepdims=True)
                    return p[..., :k.shape[-2]] @ v
                r.case(op, [q, key, v, size ** -0.5, mask, sinks],
                       lambda q, k, v, s, m, n: mx.fast.scaled_dot_product_attention(q, k, v, scale=s, mask=m, sinks=n), ref)


def rest(r):
    r.op("fast.cross_entropy", CLOSE)
    for d, dtype in enumerate(DTYPES):
        rng = generator("cross_entropy", dtype)
        for k, shape in enumerate([(3, 5), (2, 3, 7), (1, 1), (6,), (0, 4), (9, 300)]):
            x = Given(draw(rng, shape, dtype), LAYOUTS[(k + d) % 6])
            at = Given(rng.integers(0, shape[-1], shape[:-1]).astype(np.int32 if k % 2 else np.uint32))
            def ref(x, at):
                x = wide(x)
                top = x.max(-1, keepdims=True)
                total = np.log(np.exp(x - top).sum(-1)) + top[..., 0]
                return (total - np.take_along_axis(x, at[..., None].astype(np.int64), -1)[..., 0]).astype(np.float64)
            r.case("fast.cross_entropy", [x, at], mx.fast.cross_entropy, ref)
    r.op("fast.gated_delta_update", scale(2e-5, 1e-11, 4e-3, 3e-2))
    for dtype in ["f32", "f16", "bf16"]:
        rng = generator("gated_delta", dtype)
        for b, t, hk, hv, dk, dv in [(1, 4, 2, 2, 32, 32), (2, 3, 1, 2, 64, 32), (1, 1, 2, 4, 32, 64), (1, 7, 1, 1, 32, 8), (2, 5, 2, 2, 128, 128)]:
            q, k = (Given((draw(rng, (b, t, hk, dk), "f64") / dk).astype(NUMPY[dtype])) for _ in range(2))
            v = Given(draw(rng, (b, t, hv, dv), dtype))
            gamma, beta = (Given(rng.uniform(0.2, 0.95, (b, t, hv)).astype(NUMPY[dtype])) for _ in range(2))
            for state in [None, Given(draw(rng, (b, hv, dv, dk), "f32"))]:
                r.case("fast.gated_delta_update", [q, k, v, gamma, beta, state, None], lambda q, k, v, g, b, s, m: list(mx.fast.gated_delta_update(q, k, v, g, b, s, m)))


def record(r):
    norms(r)
    rope(r)
    attention(r)
    rest(r)
