"""Side by side: the versions that may run so."""

import pytest

from rota_contracts.version import beside


def test_versions_run_side_by_side_if_they_are_one_minor_version_apart() -> None:
    together = [("0.1.0", "0.2.0"), ("0.2.0", "0.1.3"), ("0.2.0", "0.2.0.dev0"), ("1.9.1", "1.10.0")]
    apart = [("0.1.0", "0.3.0"), ("0.9.0", "1.0.0"), ("1.2.0", "1.0.4")]
    assert [pair for pair in together if not beside(*pair)] == []
    assert [pair for pair in apart if beside(*pair)] == []


def test_what_is_no_version_is_refused_with_what_was_expected() -> None:
    with pytest.raises(ValueError, match=r"expected a version like 0\.2\.0, got 'latest'"):
        beside("latest", "0.2.0")
