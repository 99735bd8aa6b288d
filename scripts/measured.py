"""Where figures are measured: the machine and the revision."""

import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def revision():
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
