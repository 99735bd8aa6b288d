"""How results are compared: the manifest of each operation says it, and the runner does the same."""

import numpy as np

from array_oracle.values import INEXACT, NUMPY, name_of

BITS = {"f16": np.int16, "bf16": np.int16, "f32": np.int32, "f64": np.int64}

EXACT = {}


def ulps(f32, f64=None, half=1, complex64=2e-6):
    """At most so many representable numbers away."""
    return {"f16": ["ulps", half], "bf16": ["ulps", half], "f32": ["ulps", f32], "f64": ["ulps", f64 or f32],
            "complex64": ["scale", complex64]}


def scale(f32=2e-6, f64=1e-13, f16=1.5e-3, bf16=1e-2, complex64=None):
    """At most so far away, against the largest number of the result (or the case's own scale)."""
    return {"f16": ["scale", f16], "bf16": ["scale", bf16], "f32": ["scale", f32], "f64": ["scale", f64],
            "complex64": ["scale", complex64 or f32]}


def steps(array):
    """Integers in the order of the floats; both zeros are 0."""
    bits = array.view(BITS[name_of(array)]).astype(object)
    low = int(np.iinfo(BITS[name_of(array)]).min)
    return np.where(bits < 0, low - bits, bits)


def same_bits(found, wanted):
    if found.tobytes() == wanted.tobytes():
        return True
    if name_of(found) not in INEXACT:
        return False
    if name_of(found) == "complex64":
        return same_bits(found.view(np.float32), wanted.view(np.float32))
    nan = np.isnan(found) & np.isnan(wanted)
    size = found.dtype.itemsize
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[size]
    return bool(np.all(nan | (found.view(kind) == wanted.view(kind))))


def agrees(found, wanted, rule, against=None):
    """Why two arrays of one dtype differ, or None."""
    if found.shape != wanted.shape:
        return f"shape {found.shape} for {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"{name_of(found)} for {name_of(wanted)}"
    found, wanted = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
    if rule is None:
        return None if same_bits(found, wanted) else "bits"
    if found.size == 0:
        return None
    kind, limit = rule
    if kind == "ulps":
        # Object arithmetic cannot overflow.
        nan = np.isnan(found) & np.isnan(wanted)
        if np.any(np.isnan(found) != np.isnan(wanted)):
            return "NaN"
        one, other = found[~nan], wanted[~nan]
        uneven = one.view(BITS[name_of(one)]) != other.view(BITS[name_of(one)])
        far = max(np.abs(steps(one[uneven]) - steps(other[uneven])), default=0)
        return None if far <= limit else f"{far} ulps"
    if name_of(found) == "complex64":
        found, wanted = found.view(np.float32), wanted.view(np.float32)
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(found) & np.isfinite(wanted)
    if not np.all(finite | (found == wanted) | (np.isnan(found) & np.isnan(wanted))):
        return "infinities or NaN"
    largest = max(np.max(np.abs(wanted[finite]), initial=0.0), against or 0.0)
    error = np.max(np.abs(found[finite] - wanted[finite]), initial=0.0)
    return None if error <= limit * largest else f"{error:.3g} against {largest:.3g}"


def rule_for(compare, array):
    return compare.get(name_of(array)) if name_of(array) in NUMPY else None
