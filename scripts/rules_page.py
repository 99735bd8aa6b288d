"""Writes which rules each primitive has, and how many cases each is compared in, to docs/rules.md.

usage: rules_page.py [--check] STATUS

STATUS is the file that the test `rules` of the crate ir writes where
ONEIR_RULES_STATUS names it. With --check nothing is written: a page that does
not show what the run gives fails.
"""

import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "rules.md"

RULES = ["jvp", "vjp", "vmap", "vmap of vjp", "jvp of vjp"]

INTRODUCTION = """# Rules of primitives

Written by `scripts/rules_page.py` from what the test `ir/tests/rules` finds on the cases that
primitives bring; of a family there is a row for each member.

| column | compared with |
|---|---|
| jvp, vjp | finite differences of the reference evaluation, in f64 where the primitive takes it |
| vmap | a loop: every input alone along each of its axes, and all together |
| vmap of vjp | a loop over cotangents, along the same axes |
| jvp of vjp | finite differences of the cotangents |
| shapeless | whether a trace that holds it runs on other shapes: not where its parameters hold sizes (`fixes_shape`) |

A number says in how many comparisons the rule gives the same. *Zero*: the rule says that nothing
changes, and nothing does. *No floats*: the cases have no floats to change, in or out. *Recorded*:
the graph that the rule gives needs several processes; another test (`members.rs`) runs two side by
side. *Undefined*: there is no such rule in some or all cases, for the reason below; asking for it
is an error that names the primitive and the reason. Where a rule is none of these, the test fails.
"""


def cell(rule, counts, reasons):
    parts = []
    if counts["agree"]:
        parts.append(str(counts["agree"]))
    if counts["zero"]:
        parts.append(f"zero {counts['zero']}")
    if counts["recorded"]:
        parts.append(f"recorded {counts['recorded']}")
    for why in counts["undefined"]:
        if why not in reasons:
            reasons.append(why)
        parts.append(f"undefined ({reasons.index(why) + 1})")
    if not parts and counts["no_floats"]:
        parts.append("no inputs" if rule == "vmap" else "no floats")
    if not parts:
        raise SystemExit(f"nothing was compared of {rule}: {counts}")
    return ", ".join(parts)


def page(status):
    reasons, lines = [], []
    total, gaps = 0, 0
    for name, row in sorted(status.items()):
        cells = [cell(rule, row[rule], reasons) for rule in RULES]
        total += sum(row[rule]["agree"] + row[rule]["zero"] for rule in RULES)
        gaps += sum(bool(row[rule]["undefined"]) for rule in RULES)
        if name == "broadcast":
            shapeless = "follows what reads it"
        else:
            shapeless = "no: holds sizes" if row["fixes_shape"] else "yes"
        lines.append("| " + " | ".join([f"`{name}`", *cells, shapeless]) + " |")
    columns = ["primitive", *RULES, "shapeless"]
    return "\n".join([
        INTRODUCTION,
        f"{len(status)} rows, {total} comparisons, all right. Of {len(status) * len(RULES)} rules {gaps} are undefined in some cases.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *lines,
        "",
        "## What is undefined, and why",
        "",
        *(f"{k}. {why}" for k, why in enumerate(reasons, 1)),
    ]) + "\n"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    text = page(json.loads(pathlib.Path(arguments[0]).read_text()))
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        raise SystemExit(f"docs/rules.md does not show what the cases give: write it with\nscripts/rules_page.py {arguments[0]}")


main()
