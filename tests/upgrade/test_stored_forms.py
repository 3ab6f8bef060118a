"""Documents that the last release stored are read by this tree: a version reads what the version before wrote."""

from rota.server.stored_forms import DATABASES
from tests.upgrade.stored import WRITTEN_BEFORE, stored_documents


def test_every_form_of_the_last_release_is_read() -> None:
    read = set[tuple[str, str]]()
    for (database, collection), documents in stored_documents().items():
        for document in documents:
            DATABASES[database][collection].parse(document)
            read.add((database, collection))
    assert read == {(database, collection) for database, forms in DATABASES.items() for collection in forms}


def test_of_every_older_form_it_is_known_how_it_was_written() -> None:
    older = {
        (database, collection, one.what)
        for database, forms in DATABASES.items()
        for collection, form in forms.items()
        for one in form.older
    }
    assert older == {*WRITTEN_BEFORE}
