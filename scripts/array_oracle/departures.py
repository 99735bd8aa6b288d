"""Where MLX's answer is not the one that we give, and why."""

from array_oracle.values import FLOATS, HALVES, INTS, SIGNED, UNSIGNED, D


class Departure:
    """Cases of some operations in which another library decides."""

    def __init__(self, name, ops, when, reason, oracle="numpy", dtype=None, by="numpy", steady=True):
        self.name, self.ops, self.when, self.reason = name, ops, when, reason
        self.oracle, self.dtype, self.by = oracle, dtype, by
        # Whether MLX gives the same each time: else it does not decide even where it agrees.
        self.steady = steady

    def holds(self, case):
        return case.op in self.ops and self.when(case)

    def dtype_of(self, case, other):
        """The dtype of a case's results, where it is not MLX's."""
        return self.dtype and self.dtype(case) or other


def always(case):
    return True


def any_of(*dtypes):
    """Cases that have an operand of one of the dtypes."""
    return lambda case: any(d in dtypes for d in case.dtypes)


def with_zero(case):
    """Integers among whose divisors is 0."""
    return case.dtype in INTS and bool((case.given[-1].array == 0).any())


CONVOLUTIONS = [f"conv{back}{n}d" for back in ("", "_transpose") for n in (1, 2, 3)] + ["conv_general", "convolve"]

DEPARTURES = [
    Departure("smallest-over-minus-one", ["floor_divide", "remainder", "divmod"], lambda c: False,
              "MLX's process ends (SIGFPE) where the smallest integer is divided by -1; the quotient wraps."),
    Departure("divmod-by-zero", ["divmod"], lambda c: False,
              "MLX's process ends (SIGFPE) where divmod divides integers by 0; both results are 0, as of the single operations."),
    Departure("remainder-by-zero", ["remainder"], with_zero,
              "MLX gives the dividend where an integer is divided by 0; NumPy gives 0, as both do for the quotient."),
    Departure("sign-of-nan", ["sign"], any_of(*FLOATS), "MLX gives 0 for NaN."),
    Departure("accuracy", ["exp", "sigmoid", "erf", "logaddexp", "expm1", "var", "std"], always,
              "MLX's approximations for f32 are off by more than the tolerance, and its functions of half types compute in them."),
    Departure("missing-f64", ["nan_to_num"], any_of("f64"), "MLX refuses f64."),
    Departure("f64-in-f32", ["sin", "cos", "softmax", "logsumexp", "logcumsumexp", "linalg.det"], any_of("f64"),
              "MLX computes these of f64 in f32."),
    Departure("half-cumsum", ["cumsum", "cumprod", "logcumsumexp", "cumulative_sum", "cumulative_prod"],
              any_of(*HALVES), "MLX's running sums of half types round at every step; ours accumulate in f32."),
    Departure("half-cumextremes", ["cummax", "cummin"], any_of(*HALVES), "MLX's running extremes of half types lose NaN."),
    Departure("negative-powers", ["power"], lambda c: c.dtype in SIGNED and bool((c.given[-1].array < 0).any()),
              "MLX gives 0 for each negative power of an integer, also of 1 and -1."),
    Departure("nothing-multiplied", ["prod", "all", "any", "sum"], lambda c: 0 in c.given[0].shape,
              "MLX leaves results unwritten where several axes without elements are reduced.", steady=False),
    Departure("zero-size-sums", ["logsumexp"], lambda c: 0 in c.given[0].shape,
              "MLX refuses arrays without elements where the result has none either."),
    Departure("zero-size", ["argmax", "argmin"], lambda c: 0 in c.given[0].shape,
              "MLX refuses arrays without elements where the result has none either.", dtype=lambda c: "u32"),
    Departure("integer-softmax", ["softmax"], lambda c: c.dtype in ("bool", *INTS),
              "MLX gives integers where the softmax of integers is not along the last axis.", dtype=lambda c: "f32"),
    Departure("half-steps", ["floor_divide", "remainder", "divmod", "round"], any_of(*HALVES),
              "MLX rounds each step of a half type's arithmetic; functions of halves compute in f32 and round once."),
    Departure("full-dtype", ["full"], always,
              "MLX gives the value's own dtype where it has one that the dtype asked for does not hold, or is an array, and refuses integers above 2^63.",
              dtype=lambda c: c.args[2].name if c.args[2] else None),
    Departure("float-to-integer", ["astype"], lambda c: c.dtype in FLOATS and c.args[1].name in INTS,
              "MLX gives what the processor leaves where the integer does not hold the number; ours saturates, and NaN gives 0."),
    Departure("convolution-f64", CONVOLUTIONS, any_of("f64"), "MLX refuses most convolutions of f64, and computes the others in f32."),
    Departure("convolution-groups", ["conv3d", "conv_transpose3d", "conv_general"], always,
              "MLX has groups in one and two dimensions only."),
    Departure("gather-halves", ["gather_mm"], any_of(*HALVES), "MLX on the CPU refuses half types."),
    Departure("segmented-halves", ["segmented_mm"], any_of(*HALVES), "MLX on the CPU mixes up rows of half types."),
    Departure("indefinite", ["linalg.cholesky"], always, "MLX gives numbers where the matrix is not positive definite; ours is an error."),
    Departure("norm-f64", ["fast.layer_norm", "fast.rms_norm"], any_of("f64"), "MLX computes these of f64 in f32."),
    Departure("half-cross-entropy", ["fast.cross_entropy"], lambda c: c.dtype in HALVES or 0 in c.given[0].shape,
              "MLX on the CPU reduces in the half type, and refuses arrays without elements; ours computes in f32.", dtype=lambda c: "f32"),
    Departure("quantized-both", ["qqmm", "gather_qqmm"], lambda c: False,
              "MLX has no kernel on the CPU; the answer is the product of both sides taken through MLX's quantize and dequantize."),
    Departure("complex-norm", ["linalg.norm", "matrix_norm"], any_of("complex64"), "MLX's norms of complex numbers are complex for some orders.",
              dtype=lambda c: "f32"),
    Departure("half-products", ["quantized_matmul", "gather_qmm"], any_of(*HALVES),
              "MLX on the CPU rounds weights and partial sums of half types; ours sums in f32."),
]
