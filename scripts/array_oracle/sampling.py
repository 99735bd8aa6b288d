"""Random numbers: the same key gives what MLX gives."""

import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, scale, ulps
from array_oracle.record import Unknown
from array_oracle.values import D, Given, draw, generator

SHAPES = [[5], [], [2, 3], [0], [1], [7, 1, 3], [65, 521]]


def keys():
    return [Given(np.array(mx.random.key(seed))) for seed in (0, 3, 2**40 + 17)]


def record(r):
    m = mx.random
    r.op("random.key", EXACT)
    for seed in [0, 1, 7, 2**31, 2**32, 2**32 + 5, 2**63]:
        r.case("random.key", [seed], m.key)
    r.op("random.split", EXACT)
    for key in keys():
        for count in (1, 2, 3, 10):
            r.case("random.split", [key, count], lambda k, n: m.split(k, n))
    r.op("random.uniform", EXACT)
    r.op("random.normal", scale(4e-6, 1e-12, 2e-3, 1.5e-2))
    r.op("random.gumbel", scale(4e-6, 1e-12, 2e-3, 1.5e-2))
    r.op("random.laplace", scale(4e-6, 1e-12, 2e-3, 1.5e-2))
    for n, key in enumerate(keys()):
        for k, shape in enumerate(SHAPES):
            dtype = D("f32" if k < 3 or n == 0 else ["f16", "bf16"][(n + k) % 2])
            for low, high in [(0, 1), (-2.5, 4)][: 1 + (k < 4)]:
                r.case("random.uniform", [low, high, shape, dtype, key], lambda a, b, s, d, k: m.uniform(a, b, s, d, k))
            for loc, size in [(None, None), (1.5, 0.25)][: 1 + (k < 4)]:
                r.case("random.normal", [shape, dtype, loc, size, key], lambda s, d, a, b, k: m.normal(s, d, a, b, k))
            r.case("random.gumbel", [shape, dtype, key], lambda s, d, k: m.gumbel(s, d, k))
            for loc, size in [(0.0, 1.0), (-1.0, 2.0)][: 1 + (k < 4)]:
                r.case("random.laplace", [shape, dtype, loc, size, key], lambda s, d, a, b, k: m.laplace(s, d, a, b, k))
    rng = generator("random")
    key = keys()[1]
    r.case("random.uniform", [Given(np.float32([0, 1, 2])), Given(np.float32([[1], [3]])), [2, 3], D("f32"), key], lambda a, b, s, d, k: m.uniform(a, b, s, d, k))
    r.case("random.normal", [[2, 3], D("f32"), Given(np.float32([0, 1, 2])), Given(np.float32([[1], [3]])), key], lambda s, d, a, b, k: m.normal(s, d, a, b, k))
    r.case("random.normal", [[4], D("complex64"), None, None, key], lambda s, d, a, b, k: m.normal(s, d, a, b, k))
    r.op("random.randint", EXACT)
    for key in keys():
        for low, high, shape, dtype in [(0, 10, [6], "i32"), (-5, 5, [2, 3], "i64"), (0, 2, [9], "u8"), (3, 4, [], "i32"), (0, 1000, [0], "u32"), (-100, 100, [4], "i8"), (0, 7, [300], "u16")]:
            r.case("random.randint", [low, high, shape, D(dtype), key], lambda a, b, s, d, k: m.randint(a, b, s, d, k))
        r.case("random.randint", [Given(np.int32([0, 5])), Given(np.int32([[3], [9]])), [2, 2], D("i32"), key], lambda a, b, s, d, k: m.randint(a, b, s, d, k))
    r.op("random.bernoulli", EXACT)
    for key in keys():
        for p, shape in [(0.5, [8]), (0.1, [2, 3]), (1.0, [3]), (0.0, [3]), (0.5, []), (0.3, None), (0.5, [0])]:
            r.case("random.bernoulli", [p, shape, key], lambda p, s, k: m.bernoulli(p, s, k))
        r.case("random.bernoulli", [Given(np.float32([0.1, 0.9, 0.5])), [2, 3], key], lambda p, s, k: m.bernoulli(p, s, k))
        r.case("random.bernoulli", [Given(np.float32([0.1, 0.9, 0.5])), None, key], lambda p, s, k: m.bernoulli(p, s, k))
    r.op("random.truncated_normal", scale(4e-6, 1e-12, 2e-3, 1.5e-2))
    for key in keys():
        for low, high, shape, dtype in [(-2, 2, [5], "f32"), (0, 1, [2, 3], "f32"), (-1.5, 0.5, [], "f32"), (-1, 1, [4], "f16"), (-1, 3, [4], "bf16")]:
            r.case("random.truncated_normal", [low, high, shape, D(dtype), key], lambda a, b, s, d, k: m.truncated_normal(a, b, s, d, k))
    r.op("random.categorical", EXACT)
    r.op("random.permutation", EXACT)
    r.op("random.multivariate_normal", scale(1e-4))
    for key in keys():
        logits = Given(draw(rng, (4, 5), "f32"), "transposed")
        for axis, shape, count in [(-1, None, None), (0, None, None), (-1, [3, 4], None), (-1, None, 6), (1, None, 1)]:
            r.case("random.categorical", [logits, axis, shape, count, key], lambda x, a, s, n, k: m.categorical(x, a, shape=s, num_samples=n, key=k) if s or n else m.categorical(x, a, key=k))
        for n in (1, 2, 10, 100):
            r.case("random.permutation", [n, 0, key], lambda n, a, k: m.permutation(n, a, k))
        for shape, axis in [((6,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), -1)]:
            r.case("random.permutation", [Given(draw(rng, shape, "f32"), "reversed"), axis, key], lambda x, a, k: m.permutation(x, a, k))
        mean, cov = Given(draw(rng, (3,), "f32")), draw(rng, (3, 3), "f32", "unit")
        spread = Given((cov @ cov.T + np.eye(3)).astype(np.float32))
        for shape in [[], [4], [2, 3]]:
            r.case("random.multivariate_normal", [mean, spread, shape, D("f32"), key], lambda a, b, s, d, k: m.multivariate_normal(a, b, s, d, k))
