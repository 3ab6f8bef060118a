"""Daily ceilings of teams in metrics: the share that is used, of those that have one."""

from datetime import timedelta
from pathlib import Path

from prometheus_client import REGISTRY

from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.agents.team_ceilings import TeamCeilings
from executor.domain.spending import BILLION, Payer
from executor.model_port import Prompt
from executor.spending.budget_port import Amount
from executor.spending.measure_ceilings import MeasureCeilings
from executor.spending.metered_model import Meter
from rota_contracts.messages.spend import CallOutcome
from rota_contracts.messages.usage import ModelCall
from rota_contracts.robots.robot import Robot


async def no_robot(team: str, member: str) -> Robot | None:
    return None


async def unobserved(payer: Payer, prompt: Prompt, outcome: CallOutcome, call: ModelCall) -> None: ...


def used(team: str, limit: str) -> float | None:
    return REGISTRY.get_sample_value("rota_ceiling_used_ratio", {"team": team, "limit": limit})


async def test_the_used_share_of_each_ceiling_is_shown_until_the_team_has_none(tmp_path: Path) -> None:  # F16
    file = tmp_path / "ceilings.yml"
    file.write_text("acme: {day: {money: 10, tokens: 1000}}\n")
    budget = InMemoryBudget()
    meter = Meter(
        budget=budget,
        prices=ConnectorPrices(),
        ceilings=TeamCeilings(file),
        find_robot=no_robot,
        observe=unobserved,
    )
    measure = MeasureCeilings(meter=meter, teams=lambda: ["acme", "free"])
    (limit,) = await meter.limits(Payer("acme", "", ""))
    await budget.reserve(limit, Amount(250, 9 * BILLION), reservation="r", hold=timedelta(minutes=1))
    await measure()
    assert (used("acme", "money"), used("acme", "tokens"), used("free", "money")) == (0.9, 0.25, None)
    file.write_text("{}\n")
    meter.ceilings.refresh()
    await measure()
    assert used("acme", "money") is None
