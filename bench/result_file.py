"""The file of the latest figures: `bench/results/latest.json`."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "latest.json"


def keep(rows: list[dict[str, Any]]) -> None:
    """Put the rows into the results, in place of older ones of the same names."""
    names = {row["name"] for row in rows}
    kept = [row for row in json.loads(RESULTS.read_text()) if row["name"] not in names] if RESULTS.exists() else []
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([*rows, *kept], indent=2) + "\n")
