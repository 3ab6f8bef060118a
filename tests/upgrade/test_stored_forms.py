"""Documents that the last release stored are read by this tree: a version reads what the version before wrote."""

from pathlib import Path

from bson.json_util import JSONOptions, loads

from rota.server.upgrade_check import DATABASES

STORED = Path(__file__).parent / "stored_by_0_1_0"
"""From an upgrade's run, before its first step, as MongoDB's extended JSON: `<database>.<collection>.json`."""

NONE_WAS_STORED = {("scheduler", "plans")}


def test_every_form_of_the_last_release_is_read() -> None:
    read = set[tuple[str, str]]()
    for file in STORED.glob("*.json"):
        database, collection = file.stem.split(".")
        for document in loads(file.read_text(), json_options=JSONOptions(tz_aware=True)):
            DATABASES[database][collection].parse(document)
            read.add((database, collection))
    forms = {(database, collection) for database, forms in DATABASES.items() for collection in forms}
    assert read == forms - NONE_WAS_STORED
