"""The poison of the chaos suite: no message that it sends can be read as one of its kind."""

from random import Random

import pytest
from pydantic import ValidationError

from rota_contracts.catalog import CHANNELS
from tests.chaos.poison import CLOSED, READ, spoiled


def test_no_service_can_read_what_is_spoiled() -> None:
    for channel in CHANNELS.values():
        for seed in range(20):
            with pytest.raises(ValidationError):
                channel.payload.model_validate_json(spoiled(b'{"schema_version": 1}', Random(seed)))


def test_every_fact_that_a_service_reads_is_poisoned_but_the_feed_and_dead_letters() -> None:
    assert {channel.pattern for channel in CHANNELS.values() if channel.pattern in READ}
    assert not [pattern for pattern in READ if pattern.startswith(CLOSED)]
