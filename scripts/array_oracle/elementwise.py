"""Functions of single elements, and of pairs."""

import math

import ml_dtypes
import mlx.core as mx
import numpy as np

from array_oracle.compare import EXACT, ulps
from array_oracle.record import Unknown
from array_oracle.values import (ALL, FLOATS, HALVES, INEXACT, INTS, LARGE, LAYOUTS, MLX, NUMPY, REALS, SIGNED, Given, draw,
                                 generator, name_of, special, wide)


def arrays(op, dtypes, domain="any", main="f32"):
    """Operands on a grid of dtypes, shapes and layouts."""
    for dtype in dtypes:
        rng = generator(op, dtype)
        if dtype == main:
            for shape in [(), (0,), (3, 0, 2), (1,), (7,)]:
                yield Given(draw(rng, shape, dtype, domain))
            for layout in LAYOUTS:
                yield Given(draw(rng, (3, 5), dtype, domain), layout)
            yield Given(draw(rng, (2, 3, 4), dtype, domain), "transposed")
            yield Given(draw(rng, (2, 1, 3, 2), dtype, domain), "reversed")
            yield Given(draw(rng, LARGE, dtype, domain))
        else:
            yield Given(draw(rng, (3, 5), dtype, domain))
            yield Given(draw(rng, (4, 3), dtype, domain), LAYOUTS[1 + len(dtype + op) % 5])
        limits = special(dtype)
        if op in ("reciprocal", "rsqrt", "divide") and dtype == "complex64":
            # Over 0 each library has answers of its own.
            limits = limits[limits != 0]
        yield Given(limits)


def widened(function):
    """NumPy's function on the widest type; integers convert to f32 first."""
    return lambda x: function(wide(x.astype(np.float32) if x.dtype.kind in "biu" else x))


def kept(function):
    """NumPy's function on the widest type of the same class."""
    return lambda x: function(wide(x))


erf = np.vectorize(math.erf, otypes=[np.float64])


def unary_table():
    f = widened
    k = kept
    # name, reference, dtypes, comparison, domain
    close = ulps(4, 4)
    yield "abs", k(np.abs), ALL, {**EXACT, "complex64": ["scale", 2e-6], "f32": ["ulps", 2]}, "any"
    yield "negative", k(np.negative), [*INTS, *INEXACT], EXACT, "any"
    yield "sign", k(lambda x: np.sign(x)), [*INTS, *FLOATS], ulps(0, 0, 0), "any"
    yield "square", k(lambda x: x * x), ALL[1:], ulps(1, 1), "any"
    yield "sqrt", f(np.sqrt), ALL, ulps(1, 1), "positive"
    yield "rsqrt", f(lambda x: 1 / np.sqrt(x)), ALL, ulps(2, 2), "positive"
    yield "reciprocal", f(lambda x: 1 / x), ALL, ulps(1, 1), "positive"
    yield "expm1", f(np.expm1), REALS, close, "any"
    for name in ["exp", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"]:
        domain = "positive" if name.startswith("log") else "any"
        yield name, f(getattr(np, name)), ALL, close, domain
    for name in ["arcsin", "arccos", "arctan", "arcsinh", "arctanh"]:
        yield name, f(getattr(np, name)), ALL, close, "unit"
    yield "arccosh", f(np.arccosh), ALL, close, "ge1"
    yield "sigmoid", f(lambda x: 1 / (1 + np.exp(-x))), ALL, close, "any"
    yield "erf", f(erf), REALS, ulps(8, 8, 1), "any"
    yield "erfinv", None, ["f16", "bf16", "f32", "i32"], ulps(64, 64, 2), "unit"
    for name in ["floor", "ceil", "trunc"]:
        yield name, k(getattr(np, name)), REALS, EXACT, "any"
    yield "degrees", f(np.degrees), REALS, ulps(2, 2), "any"
    yield "radians", f(np.radians), REALS, ulps(2, 2), "any"
    for name in ["isnan", "isinf", "isfinite"]:
        yield name, k(getattr(np, name)), ALL, EXACT, "any"
    for name in ["isneginf", "isposinf"]:
        yield name, k(getattr(np, name)), REALS, EXACT, "any"
    yield "logical_not", k(np.logical_not), ALL, EXACT, "any"
    yield "bitwise_invert", lambda x: np.invert(x), ["bool", *INTS], EXACT, "wide"
    yield "conjugate", k(np.conjugate), ALL, EXACT, "any"
    yield "real", k(np.real), ["complex64", "f32"], EXACT, "any"
    yield "imag", k(np.imag), ["complex64", "f32"], EXACT, "any"
    yield "positive", k(lambda x: +x if x.dtype != bool else x), ALL, EXACT, "any"
    yield "stop_gradient", k(lambda x: x), ALL, EXACT, "any"


ALIASES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
           "atanh": "arctanh", "conj": "conjugate"}


def unary(r):
    table = {row[0]: row for row in unary_table()}
    for alias, name in ALIASES.items():
        _, ref, dtypes, compare, domain = table[name]
        table[alias] = (alias, ref, ["f32", "f16"] if name != "conjugate" else ["f32", "complex64"], compare, domain)
    for name, ref, dtypes, compare, domain in table.values():
        r.op(name, compare)
        for x in arrays(name, dtypes, domain):
            r.case(name, [x], getattr(mx, name), ref)
    r.op("round", ulps(1, 1))
    for x in arrays("round", REALS):
        r.case("round", [x, 0], mx.round, lambda x, _: np.round(wide(x)) if x.dtype != bool else x)
    for dtype in ["f32", "f16", "i32"]:
        for decimals in [1, 2, -1, 3]:
            x = Given(draw(generator("round", dtype, decimals), (4, 3), dtype) * np.array(7).astype(NUMPY[dtype]))
            r.case("round", [x, decimals], mx.round, lambda x, n: np.round(wide(x), n))


def pairs(op, dtypes, domain="any", second=None, main="f32", odd=True):
    """Two operands: equal dtypes, broadcasting shapes, layouts, mixed dtypes, and numbers."""
    second = second or domain
    for dtype in dtypes:
        rng = generator(op, dtype)
        shapes = [((3, 5), (3, 5), "plain", "transposed")]
        if dtype == main:
            shapes += [((), (), "plain", "plain"), ((0, 3), (1, 3), "plain", "plain"), ((4, 1), (5,), "plain", "plain"),
                       ((2, 1, 3), (4, 1), "reversed", "spread"), ((3, 5), (), "offset", "plain"),
                       ((2, 3, 4), (2, 3, 4), "transposed", "reversed"), ((3, 4), (3, 4), "broadcast", "offset"),
                       (LARGE, (LARGE[1],), "plain", "plain"), (LARGE, LARGE, "plain", "plain")]
        for a, b, first_layout, second_layout in shapes:
            yield [Given(draw(rng, a, dtype, domain), first_layout), Given(draw(rng, b, dtype, second), second_layout)]
        if odd:
            limits = special(dtype)
            if op in ("floor_divide", "divmod") and dtype in FLOATS:
                # Quotients that are 0 in f32 and not in f64.
                limits = limits[(np.abs(limits) > 1e-3) | ~np.isfinite(limits) | (limits == 0)]
            divisors = limits
            if op == "divide" and dtype == "complex64":
                divisors = limits[limits != 0]
            if op in ("floor_divide", "remainder", "divmod") and dtype in SIGNED:
                # MLX's process ends at the smallest number over -1.
                divisors = limits[limits != -1]
            if op == "divmod" and dtype in INTS:
                # And that of divmod at any number over 0.
                divisors = divisors[divisors != 0]
            yield [Given(limits[:, None]), Given(divisors[None, :])]


def mixed(op, dtypes, domain="any"):
    """Each dtype beside one other, in turn."""
    for k, dtype in enumerate(dtypes):
        other = dtypes[(k * 5 + 3) % len(dtypes)]
        rng = generator(op, dtype, other)
        yield [Given(draw(rng, (2, 3), dtype, domain)), Given(draw(rng, (3,), other, domain))]


def numbers(op, dtypes, domain="any", fraction=True):
    """An array beside a Rust or Python number."""
    for k, dtype in enumerate(dtypes):
        rng = generator(op, dtype, "number")
        x = Given(draw(rng, (2, 3), dtype, domain))
        yield [x, 3]
        if fraction and dtype != "bool":
            yield [x, 2.5]


def quotient(x, y):
    """Integer division as MLX defines it: by 0 it gives 0."""
    if x.dtype.kind in "iu":
        return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y)))
    return np.floor(x / y)


def narrow(function):
    """As `scaled`, with halves in f32 and f32 in f32."""
    half = lambda x: x.astype(np.float32) if name_of(x) in HALVES else x
    return lambda a, b: function(*map(half, promoted(a, b)))


def leftover(x, y):
    """What floor division leaves; by 0 nothing."""
    return np.remainder(x, y) if x.dtype.kind == "f" else np.where(y == 0, 0, np.remainder(x, np.where(y == 0, 1, y)))


def scaled(function):
    """On the widest type of what MLX promotes both to."""
    def run(a, b):
        a, b = promoted(a, b)
        return function(wide(a), wide(b))
    return run


def promoted(a, b):
    """Both in the dtype that MLX's table gives; numbers take the array's."""
    if not isinstance(b, np.ndarray):
        kind = a.dtype
        if isinstance(b, float) and kind.kind in "biu":
            kind = np.float32
        elif kind == bool:
            kind = np.int32
        return a.astype(kind), np.asarray(b).astype(kind)
    name = next(n for n, d in MLX.items() if d == mx.result_type(MLX[name_of(a)], MLX[name_of(b)]))
    return a.astype(NUMPY[name]), b.astype(NUMPY[name])


def inexact(function):
    def run(a, b):
        a, b = promoted(a, b)
        if a.dtype.kind in "biu":
            # These convert to f32 first.
            a, b = a.astype(np.float32).astype(np.float64), b.astype(np.float32).astype(np.float64)
        return function(wide(a), wide(b))
    return run


def binary(r):
    whole = ["bool", *INTS]
    table = [
        ("add", scaled(np.add), ALL, ulps(0, 0, 0, 1e-7), "any"),
        ("subtract", scaled(np.subtract), ALL[1:], ulps(0, 0, 0, 1e-7), "any"),
        ("multiply", scaled(np.multiply), ALL, ulps(0, 0, 0, 2e-7), "any"),
        ("divide", inexact(np.divide), ALL, ulps(1, 1, 0, 2e-6), "positive"),
        ("floor_divide", narrow(quotient), REALS[1:], EXACT, "positive"),
        ("remainder", narrow(leftover), REALS[1:], ulps(0, 0, 0), "positive"),
        ("maximum", scaled(np.maximum), ALL[:-1], EXACT, "any"),
        ("minimum", scaled(np.minimum), ALL[:-1], EXACT, "any"),
        ("logaddexp", inexact(np.logaddexp), REALS, ulps(4, 4, 1), "any"),
        ("arctan2", inexact(np.arctan2), REALS, ulps(4, 4, 1), "any"),
        ("equal", scaled(np.equal), ALL, EXACT, "small"),
        ("not_equal", scaled(np.not_equal), ALL, EXACT, "small"),
        ("less", scaled(np.less), REALS, EXACT, "small"),
        ("less_equal", scaled(np.less_equal), REALS, EXACT, "small"),
        ("greater", scaled(np.greater), REALS, EXACT, "small"),
        ("greater_equal", scaled(np.greater_equal), REALS, EXACT, "small"),
        ("logical_and", scaled(np.logical_and), REALS, EXACT, "small"),
        ("logical_or", scaled(np.logical_or), REALS, EXACT, "small"),
        ("logical_xor", scaled(np.logical_xor), REALS, EXACT, "small"),
        ("bitwise_and", scaled(np.bitwise_and), whole, EXACT, "wide"),
        ("bitwise_or", scaled(np.bitwise_or), whole, EXACT, "wide"),
        ("bitwise_xor", scaled(np.bitwise_xor), whole, EXACT, "wide"),
        ("divmod", narrow(lambda a, b: [quotient(a, b), leftover(a, b)]), [*INTS, "f32", "f16", "bf16", "f64"], ulps(0, 0, 0), "positive"),
    ]
    names = {"atan2": "arctan2"}
    by_name = {row[0]: row for row in table}
    table += [(alias, by_name[name][1], ["f32", "f64"], *by_name[name][3:]) for alias, name in names.items()]
    for name, ref, dtypes, compare, domain in table:
        main = "f32" if "f32" in dtypes else "i32"
        r.op(name, compare)
        call = getattr(mx, name)
        for args in pairs(name, dtypes, domain, main=main):
            r.case(name, args, call, ref)
        for args in mixed(name, [d for d in dtypes if d != "complex64"], "positive" if domain != "wide" else "wide"):
            r.case(name, args, call, ref)
        if not name.startswith("logical"):
            for args in numbers(name, dtypes, "positive", fraction="bitwise" not in name):
                r.case(name, args, call, ref)
    for dtype in INTS:
        some = Given(special(dtype))
        r.case("divmod", [some, Given(np.zeros(1, some.array.dtype))], None,
               lambda a, b: [quotient(a, b), leftover(a, b)], departure="divmod-by-zero")
    for dtype in SIGNED:
        low = Given(special(dtype)[-5:-3])
        minus = Given(np.array([-1], dtype=low.array.dtype))
        for name, ref in [("floor_divide", quotient), ("remainder", leftover)]:
            r.case(name, [low, minus], None, ref, departure="smallest-over-minus-one")
        r.case("divmod", [low, minus], None, lambda a, b: [quotient(a, b), leftover(a, b)],
               departure="smallest-over-minus-one")
    shifts(r)
    powers(r)
    choices(r)


def shifts(r):
    for name in ["left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"]:
        r.op(name, EXACT)
        for args in pairs(name, INTS if not name.startswith("bitwise") else ["i32", "u8"], "wide", "shift", main="i32",
                          odd=False):
            r.case(name, args, getattr(mx, name),
                   scaled(np.left_shift if name.endswith("left_shift") else np.right_shift))
        for args in numbers(name, INTS, "positive", fraction=False):
            r.case(name, args, getattr(mx, name))


def powers(r):
    def ref(a, b):
        a, b = promoted(a, b)
        if a.dtype.kind == "i" and np.any(b < 0):
            raise Unknown
        return np.power(wide(a), wide(b))
    for name in ["power", "pow"]:
        r.op(name, ulps(8, 8, 1, 4e-6))
        for args in pairs(name, [*INTS, *INEXACT] if name == "power" else ["f32", "i32"], "positive", "small",
                          odd=False):
            if args[1].dtype in SIGNED:
                args[1] = Given(np.abs(args[1].array), args[1].layout)
            r.case(name, args, getattr(mx, name), ref)
        for dtype in FLOATS:
            a = special(dtype)
            b = np.array([0, -0.0, 1, 2, -1, 0.5, 3, np.inf, -np.inf, np.nan], dtype=NUMPY[dtype])
            r.case(name, [Given(a[:, None]), Given(b[None])], getattr(mx, name), ref)
        for args in numbers(name, [*INTS, *FLOATS], "positive"):
            r.case(name, args, getattr(mx, name))


def choices(r):
    """where, clip, isclose, allclose, array_equal, nan_to_num."""
    r.op("where", EXACT)
    for dtype in ALL:
        rng = generator("where", dtype)
        sets = [((3, 5), (3, 5), (3, 5), "plain", "transposed"), ((3, 1), (5,), (), "plain", "plain")]
        if dtype == "f32":
            sets += [((), (), (), "plain", "plain"), ((0,), (1,), (0,), "plain", "plain"),
                     ((2, 3, 4), (3, 1), (4,), "reversed", "spread"), (LARGE, LARGE, LARGE, "plain", "plain")]
        for c, a, b, first, second in sets:
            args = [Given(draw(rng, c, "bool"), first), Given(draw(rng, a, dtype), second), Given(draw(rng, b, dtype))]
            r.case("where", args, mx.where, lambda c, x, y: np.where(c, x, y))
    rng = generator("where", "mixed")
    r.case("where", [Given(draw(rng, (4,), "i32", "unit")), Given(draw(rng, (4,), "f16")), Given(draw(rng, (4,), "i32"))],
           mx.where)
    r.case("where", [Given(draw(rng, (4,), "bool")), Given(draw(rng, (4,), "f16")), 2.5], mx.where)
    r.case("where", [Given(draw(rng, (4,), "bool")), Given(draw(rng, (4,), "i32")), 2], mx.where)
    r.op("clip", EXACT)
    for dtype in REALS[1:]:
        rng = generator("clip", dtype)
        x = Given(draw(rng, (3, 5), dtype), "transposed")
        low, high = (2, 9) if dtype in INTS else (-0.5, 1.25)
        for bounds in [[low, high], [low, None], [None, high],
                       [Given(draw(rng, (5,), dtype, "small")), Given(draw(rng, (3, 1), dtype, "positive"))]]:
            r.case("clip", [x, *bounds], mx.clip)
        r.case("clip", [Given(special(dtype)), low, high], mx.clip)
    for name in ["isclose", "allclose", "array_equal"]:
        r.op(name, EXACT)
    for dtype in ["f32", "f16", "bf16", "f64", "i32", "complex64", "u8", "bool"]:
        rng = generator("close", dtype)
        a = draw(rng, (3, 4), dtype)
        b = a.copy()
        b[1, 2:] = draw(rng, (2,), dtype)
        near = (wide(a) * (1 + 3e-6)).astype(a.dtype)
        sides = [[Given(a), Given(b, "transposed")], [Given(a), Given(near)], [Given(a), Given(a, "reversed")],
                 [Given(a), Given(a[:1])]]
        if dtype in FLOATS:
            sides.append([Given(special(dtype)), Given(special(dtype))])
        for pair in sides:
            for rest in [[1e-5, 1e-8, False], [1e-3, 0.5, True], [0.0, 0.0, True]]:
                args = [*pair, *rest]
                same = lambda f: lambda a, b, rt, at, nan: f(wide(a), wide(b), rtol=rt, atol=at, equal_nan=nan)
                r.case("isclose", args, lambda a, b, rt, at, nan: mx.isclose(a, b, rt, at, equal_nan=nan),
                       None if dtype in ("f16", "bf16", "bool", "u8") else same(np.isclose))
                r.case("allclose", args, lambda a, b, rt, at, nan: mx.allclose(a, b, rt, at, equal_nan=nan),
                       None if dtype in ("f16", "bf16", "bool", "u8") else same(np.allclose))
            for nan in [False, True]:
                r.case("array_equal", [*pair, nan], lambda a, b, nan: mx.array_equal(a, b, equal_nan=nan),
                       lambda a, b, nan: np.array_equal(wide(a), wide(b), equal_nan=nan and a.dtype.kind not in "biu"))
    r.case("array_equal", [Given(np.float32([1, 2])), Given(np.int32([1, 2])), False], lambda a, b, n: mx.array_equal(a, b, equal_nan=n))
    r.op("nan_to_num", EXACT)
    for dtype in [*FLOATS, "i32", "bool"]:
        x = special(dtype)
        for rest in [[0.0, None, None], [1.5, 7.0, -7.0], [0.0, 3.0, None]]:
            def ref(x, nan, up, down):
                if x.dtype.kind in "biu":
                    return x
                info = ml_dtypes.finfo(x.dtype)
                up, down = float(info.max) if up is None else up, float(info.min) if down is None else down
                return np.nan_to_num(wide(x), nan=nan, posinf=up, neginf=down)
            for layout in ["plain", "spread"]:
                r.case("nan_to_num", [Given(x, layout), *rest], mx.nan_to_num, ref)


def record(r):
    unary(r)
    binary(r)
