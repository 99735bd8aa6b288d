"""Where MLX's answer is not the one that we give, and why."""

from array_oracle.values import FLOATS, HALVES, INTS, SIGNED, UNSIGNED, D


class Departure:
    """Cases of some operations in which another library decides."""

    def __init__(self, name, ops, when, reason, oracle="numpy", dtype=None, by="numpy"):
        self.name, self.ops, self.when, self.reason = name, ops, when, reason
        self.oracle, self.dtype, self.by = oracle, dtype, by

    def holds(self, case):
        return case.op in self.ops and self.when(case)


def always(case):
    return True


def any_of(*dtypes):
    """Cases that have an operand of one of the dtypes."""
    return lambda case: any(d in dtypes for d in case.dtypes)


def with_zero(case):
    """Integers among whose divisors is 0."""
    return case.dtype in INTS and bool((case.given[-1].array == 0).any())


DEPARTURES = [
    Departure("smallest-over-minus-one", ["floor_divide", "remainder", "divmod"], lambda c: False,
              "MLX's process ends (SIGFPE) where the smallest integer is divided by -1; the quotient wraps."),
    Departure("divmod-by-zero", ["divmod"], lambda c: False,
              "MLX's process ends (SIGFPE) where divmod divides integers by 0; both results are 0, as of the single operations."),
    Departure("remainder-by-zero", ["remainder"], with_zero,
              "MLX gives the dividend where an integer is divided by 0; NumPy gives 0, as both do for the quotient."),
    Departure("sign-of-nan", ["sign"], any_of(*FLOATS), "MLX gives 0 for NaN."),
    Departure("accuracy", ["exp", "sigmoid", "erf", "logaddexp", "expm1"], always,
              "MLX's approximations for f32 are off by more than 4 ulps, and its functions of half types compute in them."),
    Departure("missing-f64", ["nan_to_num"], any_of("f64"), "MLX refuses f64."),
    Departure("f64-in-f32", ["sin", "cos"], any_of("f64"), "MLX computes the sine and cosine of f64 in f32."),
    Departure("half-steps", ["floor_divide", "remainder", "divmod"], any_of(*HALVES),
              "MLX rounds each step of a half type's arithmetic; functions of halves compute in f32 and round once."),
]
