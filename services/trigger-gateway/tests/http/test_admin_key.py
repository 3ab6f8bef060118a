"""The administrator's key: which ones are taken, and a word about the example's."""

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from .harness import ADMIN, gateway, settings


def test_a_key_that_can_be_guessed_or_never_sent_is_refused_and_not_shown(subtests: pytest.Subtests) -> None:
    for wrong in ("~", "fifteen-letters", " " * 20, "with a space in it", "schlüssel-für-alle", "with-a-tab-\tin-it"):
        with subtests.test(key=wrong), pytest.raises(ValidationError, match="expected ROTA_ADMIN_KEY") as caught:
            settings(admin_key=wrong)
        assert wrong not in str(caught.value)


async def test_the_gateway_warns_of_the_examples_key_and_of_no_other() -> None:
    for key, warned in ((ADMIN, False), ("change-me", True), ("change-me-please-do", True)):
        with capture_logs() as lines:
            async with gateway(settings(admin_key=key)):
                pass
        found = [line for line in lines if line.get("variable") == "ROTA_ADMIN_KEY"]
        assert [line["log_level"] for line in found] == ["warning"] * warned, key
