"""Secrets of teams, asked of the gateway: each is a team's own, and kept for a minute."""

from collections.abc import Collection, Mapping

import pytest

from rota_common import team_secrets
from rota_common.bus.rpc import Ask, NoReply
from rota_common.errors import Transient
from rota_common.team_secrets import CachedSecrets, MissingTeamSecret, asked_of_the_gateway
from rota_common.testing.in_memory_bus import InMemoryBus


class Store:
    def __init__(self) -> None:
        self.values = {("acme", "A"): "1", ("acme", "B"): "2", ("beta", "A"): "other"}
        self.asked: list[tuple[str, list[str]]] = []
        self.now = 0.0

    async def read(self, team: str, names: Collection[str]) -> Mapping[str, str]:
        self.asked.append((team, list(names)))
        return {name: self.values[team, name] for name in names if (team, name) in self.values}

    def cached(self) -> CachedSecrets:
        return CachedSecrets(self.read, monotonic=lambda: self.now)


async def test_both_spellings_mean_the_teams_own_secret() -> None:
    secrets = Store().cached()
    assert await secrets.resolve("acme", ["$ENV.A", "$SECRET.A", "plain", ""]) == {"$ENV.A": "1", "$SECRET.A": "1"}
    assert await secrets.resolve("beta", ["$ENV.A"]) == {"$ENV.A": "other"}


@pytest.mark.parametrize("reference", ["$ENV.PATH", "$SECRET.B", "$ENV.a-b", "$ENV.", "$SECRET.a/../b"])
async def test_a_missing_secret_is_named_with_what_to_do(reference: str) -> None:
    with pytest.raises(MissingTeamSecret) as caught:
        await Store().cached().resolve("beta", [reference])
    assert reference in str(caught.value)
    assert "beta" in str(caught.value)


async def test_a_value_is_kept_for_a_minute_and_what_is_missing_is_not() -> None:
    store = Store()
    secrets = store.cached()
    for at in (0, 59):
        store.now = at
        await secrets.resolve("acme", ["$ENV.A"])
    assert store.asked == [("acme", ["A"])]
    store.now = 60
    store.values["acme", "A"] = "new"
    assert await secrets.resolve("acme", ["$ENV.A", "$ENV.B"]) == {"$ENV.A": "new", "$ENV.B": "2"}
    with pytest.raises(MissingTeamSecret):
        await secrets.resolve("acme", ["$ENV.LATER"])
    store.values["acme", "LATER"] = "here"
    assert await secrets.resolve("acme", ["$ENV.LATER"]) == {"$ENV.LATER": "here"}


async def test_no_more_values_are_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_secrets, "KEPT", 1)
    store = Store()
    secrets = store.cached()
    for _ in range(2):
        await secrets.resolve("acme", ["$ENV.A"])
        await secrets.resolve("acme", ["$ENV.B"])
    assert len(store.asked) == 4


async def test_a_gateway_that_is_away_is_a_passing_failure() -> None:
    ask = Ask(InMemoryBus().connection("delivery-center"), by="delivery-center")
    with pytest.raises(NoReply) as caught:
        await asked_of_the_gateway(ask).resolve("acme", ["$ENV.A"])
    assert isinstance(caught.value, Transient)
