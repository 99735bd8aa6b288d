"""Runs the standard's cases and writes what passes to docs/onnx-coverage.md.

usage: coverage.py [--check] ONEIR ORACLES

ONEIR is the built command and ORACLES the folder that oracles.py fills. The
cases that do not pass go to docs/onnx-coverage.json, too. With --check nothing
is written: a case that passed before and does not now fails, and so does a page
that does not show what the run gives.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "onnx-coverage.md"
KNOWN = ROOT / "docs" / "onnx-coverage.json"
RESULTS = ["pass", "refused", "wrong", "crash", "random"]
SUITES = ["onnx-1.22.0/node", "onnx-1.22.0/simple", "onnx-1.22.0/pytorch-operator", "onnx-1.22.0/pytorch-converted",
          "onnx-1.22.0/light", "onnx-1.23.2/node"]


def run(oneir, folder):
    """The results of a suite, from the command's JSON."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "results.json"
        done = subprocess.run([oneir, "conformance", str(folder), "--json", str(path)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        # 1 says that cases are wrong or crashed, which is compared below.
        if not path.exists():
            raise SystemExit(f"oneir conformance {folder}: exit code {done.returncode}\n{done.stderr}")
        return json.loads(path.read_text())


def operators(oneir):
    text = subprocess.run([oneir, "operators"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: [int(version) for version in row[1:]] for row in rows}


def qualified(domain, name):
    return f"{domain}.{name}" if domain else name


def listed(versions):
    return ", ".join(str(version) for version in versions)


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def page(results, standard, there):
    """The page's text."""
    uses = {}
    for suite, found in results.items():
        for case in found["cases"]:
            for domain, name in standard["cases"][suite][case["name"]]:
                counts = uses.setdefault(qualified(domain, name), [0, 0])
                counts[0] += case["result"] in ("pass", "random")
                counts[1] += 1
    lines = [
        "# ONNX coverage", "",
        "Written by `scripts/coverage.py` from `oneir conformance` on the default device. A case of `random` has random",
        "results, whose shape, element type and range are right.", "",
        "## Suites", "",
        *table(["suite", *RESULTS], [[suite, *(found["totals"][r] for r in RESULTS)] for suite, found in results.items()]),
        "", "## Cases that do not pass", "",
        *table(["suite", "case", "result", "detail"],
               [[suite, case["name"], case["result"], case["detail"]] for suite, found in results.items()
                for case in found["cases"] if case["result"] not in ("pass", "random")]),
        "", "## Operators", "",
        "Every operator of the standard. *Versions* are those at which it changed and that are known here; *not known*",
        "are the others: an older one is refused, a newer one runs as the last that is known. *Cases* are those of all",
        "suites that use the operator: how many are right, and how many there are.", "",
    ]
    rows = []
    for operator in standard["operators"]:
        name = qualified(operator["domain"], operator["name"])
        here = there.get(name, [])
        known = [version for version in operator["since"] if version in here]
        rest = [version for version in operator["since"] if version not in here]
        right, all_cases = uses.get(name, [0, 0])
        shown = f"{name} (deprecated)" if operator["deprecated"] else name
        rows.append([shown, listed(known) or "none", listed(rest), f"{right}/{all_cases}" if all_cases else ""])
    lines += table(["operator", "versions", "not known", "cases"], rows)
    beyond = sorted(set(there) - {qualified(o["domain"], o["name"]) for o in standard["operators"]})
    if beyond:
        lines += ["", "Beyond the standard: " + ", ".join(beyond) + "."]
    return "\n".join(lines) + "\n"


def not_passing(results):
    return {suite: {case["name"]: case["result"] for case in found["cases"] if case["result"] != "pass"}
            for suite, found in results.items()}


def regressions(before, results):
    """A line for each case that is worse than it was."""
    lines = []
    for suite, found in results.items():
        for case in found["cases"]:
            was = before.get(suite, {}).get(case["name"], "pass")
            now = case["result"]
            if now != was and now not in ("pass", "random") and not (was in ("wrong", "crash") and now == "refused"):
                lines.append(f"{suite}/{case['name']} was {was} and is {now}: {case['detail']}")
    return lines


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    oneir, oracles = arguments[0], pathlib.Path(arguments[1])
    standard = json.loads((oracles / "standard.json").read_text())
    results = {suite: run(oneir, oracles / suite) for suite in SUITES}
    for suite, found in results.items():
        print(suite + ": " + ", ".join(f"{name} {found['totals'][name]}" for name in RESULTS))
    text = page(results, standard, operators(oneir))
    known = json.dumps(not_passing(results), indent=1) + "\n"
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        KNOWN.write_text(known)
        return
    before = json.loads(KNOWN.read_text())
    if worse := regressions(before, results):
        raise SystemExit("\n".join(["cases that passed before do not pass:", *worse]))
    if (PAGE.read_text(), KNOWN.read_text()) != (text, known):
        now = not_passing(results)
        better = [f"{suite}/{case} was {was} and is {now.get(suite, {}).get(case, 'pass')}"
                  for suite, cases in before.items() for case, was in cases.items()
                  if now.get(suite, {}).get(case, "pass") != was]
        raise SystemExit("\n".join([*better, "docs/onnx-coverage.md does not show what the cases give: write it with",
                                    f"scripts/coverage.py {oneir} {oracles}"]))


main()
