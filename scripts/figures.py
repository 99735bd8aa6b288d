"""Writes the tables of docs/performance.md from the raw figures in docs/bench.

usage: figures.py [--check]

Each file there is JSON: {"machine", "revision", "command", "rows": [...]}, and
each table stands between `<!-- figures NAME -->` and `<!-- end -->`. With
--check nothing is written; a table that is not what the figures give fails.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


def number(value):
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:,.0f}"


def table(figures):
    rows = figures["rows"]
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [row[c] if isinstance(row[c], str) else number(row[c]) for c in columns]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines.append(f"{figures['machine']}, revision {figures['revision']}: `{figures['command']}`")
    return "\n".join(lines)


def main():
    page = PAGE.read_text()

    def fill(match):
        figures = json.loads((ROOT / "docs" / "bench" / f"{match.group(1)}.json").read_text())
        return f"<!-- figures {match.group(1)} -->\n{table(figures)}\n<!-- end -->"

    made = re.sub(r"<!-- figures (\w+) -->\n.*?<!-- end -->", fill, page, flags=re.S)
    if "--check" in sys.argv:
        if made != page:
            raise SystemExit("docs/performance.md does not show the figures of docs/bench: run scripts/figures.py")
    else:
        PAGE.write_text(made)


main()
