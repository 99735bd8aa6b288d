"""Writes the files in `data` with NumPy, ml_dtypes and safetensors.

`numpy_oracle.rs` knows the values.
"""

import pathlib

import ml_dtypes
import numpy as np
import safetensors

DATA = pathlib.Path(__file__).parent / "data"
DATA.mkdir(exist_ok=True)

SHAPE = (2, 3)
FLOATS = [0.0, 1.5, -2.25, 0.15625, -np.inf, 448.0]


def of_type(dtype):
    dtype = np.dtype(dtype)
    if dtype == bool:
        values = [True, False, True, True, False, False]
    elif dtype.kind == "u":
        values = [0, 1, 2, 3, 4, np.iinfo(dtype).max]
    elif dtype.kind == "i":
        values = [np.iinfo(dtype).min, -1, 0, 1, 2, np.iinfo(dtype).max]
    elif dtype.kind == "c":
        values = [0, 1.5 - 2j, -0.5j, 4, -8 + 1j, complex(0.25, np.inf)]
    else:
        values = FLOATS
    return np.array(values, dtype=dtype).reshape(SHAPE)


NAMES = {
    "bool": "?", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "f16": "f2", "bf16": ml_dtypes.bfloat16, "f32": "f4", "f64": "f8", "complex64": "c8",
}  # fmt: skip
ARRAYS = {name: of_type(dtype) for name, dtype in NAMES.items()}

for name, array in ARRAYS.items():
    np.save(DATA / f"{name}.npy", array)
for name in ["u16", "i32", "f16", "f64", "complex64"]:
    big = ARRAYS[name].astype(ARRAYS[name].dtype.newbyteorder(">"))
    np.save(DATA / f"{name}_big.npy", big)
np.save(DATA / "fortran.npy", np.asfortranarray(ARRAYS["i16"]))
np.save(DATA / "scalar.npy", np.float32(2.5))
np.save(DATA / "empty.npy", np.zeros((0, 3), "i8"))
for major in [2, 3]:
    with open(DATA / f"version{major}.npy", "wb") as file:
        np.lib.format.write_array(file, ARRAYS["i16"], version=(major, 0))

np.save(DATA / "refused_object.npy", np.array([None, {}], dtype=object))
np.save(DATA / "refused_string.npy", np.array(["ab", "c"]))
np.save(DATA / "refused_structured.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "u1")]))
np.save(DATA / "refused_complex128.npy", np.zeros(2, "c16"))

members = {"b": ARRAYS["f32"], "a/c": np.asfortranarray(ARRAYS["u8"]), "é": np.int64(-5)}
np.savez(DATA / "stored.npz", **members)
np.savez_compressed(DATA / "deflated.npz", **members)
np.savez(DATA / "empty.npz")

# Codes rather than values: every one is exact.
CODES = np.array([0x00, 0x01, 0x38, 0x3C, 0x7B, 0xC0], "u1").reshape(SHAPE)
STORAGE = ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1"]
THEIRS = {
    "bool": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "complex64": "complex64",
    "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn_x2",
}  # fmt: skip
tensors = ARRAYS | {name: CODES for name in STORAGE}
safetensors.serialize_file(
    {
        name: safetensors.TensorSpec(
            dtype=THEIRS[name], shape=SHAPE, data_ptr=array.ctypes.data, data_len=array.nbytes
        )
        for name, array in tensors.items()
    },
    DATA / "every.safetensors",
    {"quote": '"\\é'},
)
for file in DATA.iterdir():
    file.chmod(0o644)
