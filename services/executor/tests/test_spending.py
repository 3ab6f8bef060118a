"""The cost of calls of models, and the ceilings that they stay below."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, new_run
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import InMemoryRobots, ScriptedModel
from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.adapters.litellm_prices import listed
from executor.agents.connectors import Connector
from executor.agents.prices import Price
from executor.agents.team_ceilings import CeilingsFileError, TeamCeilings
from executor.domain import journal
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.outcomes import Learnt, VerdictGiven
from executor.domain.spending import BILLION, Limit, Payer, limits_of
from executor.domain.steps import RequestLearning, RequestVerdict
from executor.model_port import NotTaken, Prompt
from executor.reads.read_steps import steps_of
from executor.reads.replay import replay
from executor.spending.budget_port import Amount, AtCeiling
from executor.spending.metered_model import Meter
from executor.spending.most_tokens import bounded, most_in
from rota_common.errors import Permanent, Transient
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts.messages.execution import LearningResult
from rota_contracts.messages.spend import CallOutcome
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import SHARES, ModelCall, ModelUsage, Usage
from rota_contracts.messages.validation import ValidationResult
from rota_contracts.robots.ceilings import Ceiling, Ceilings

PRICE = Price(input_per_million=2, output_per_million=10, cached_per_million=0.5)
CONNECTOR = Connector("small", "Small", "openai", model="small-1", price=PRICE)
USED = Usage(tokens_in=1000, tokens_out=100, tokens_cached=400)
REPLY = ModelReply(text="done", call=ModelCall(model="small-1", usage=USED))
PROMPT = Prompt([Message(role="user", content="Go.")], CONNECTOR, 60, "s1")
WIDE = Limit("run:e1:USD", "this run", daily=False, currency="USD")


async def test_calls_of_judges_and_of_the_learner_are_part_of_their_run() -> None:  # EX-63 EX-62 F24
    judged = ModelCall(model="j", agent="rota.validation", usage=Usage(tokens_in=7), cost=0.25, currency="USD")
    learnt = judged.model_copy(update={"agent": "rota.learning", "usage": None, "cost": None})
    plan = '{"tasks": [{"id": "a", "description": "Look", "executor_id": "writer", "expected_output": "a score"}]}'
    harness = StepHarness(ScriptedModel("## Goals\n1. Score it", plan, "87", '{"summary": "Done.", "body": "# Done"}'))
    run = await harness.until(new_run(robot=EQUIPPED), lambda run: isinstance(_next(run), RequestVerdict))
    step = _next(run)
    good = ValidationResult(passed=True, complete=True, score=1.0)
    run = journal.record_outcome(run, VerdictGiven(step.validation_id, "a", good, None, [judged, judged]), now=NOON)
    run = await harness.until(run, lambda run: isinstance(_next(run), RequestLearning))
    run = await harness.over(journal.record_outcome(run, Learnt(LearningResult(), [learnt]), now=NOON))
    used = run.execution.usage
    assert (used.calls, used.unmeasured, used.unpriced, used.tokens_in, used.costs) == (3, 1, 1, 14, {"USD": 0.5})
    assert [(share.agent, share.calls, share.cost) for share in used.shares] == [
        ("rota.validation", 2, 0.5),
        ("rota.learning", 1, 0.0),
    ]
    replies = [entry.said.inline or "" if entry.said else "" for entry in run.unsaved]
    again = replay(run, run.unsaved, replies)
    assert (again.same, again.difference) == (True, "")
    steps = steps_of(run.unsaved, replies, again.decisions)
    assert [step.asked for step in steps if step.asked] == [[judged, judged], [learnt]]


def _next(run: Any) -> Any:
    return journal.lifecycle.next_step(run)


def test_shares_are_bounded_and_lose_nothing() -> None:
    used = ModelUsage()
    for number in range(SHARES + 7):
        used = used.plus(ModelCall(model=f"m{number}", cost=0.001, currency="USD", usage=USED), day="2026-03-02")
    assert len(used.shares) == SHARES
    assert sum(share.calls for share in used.shares) == used.calls == SHARES + 7
    assert sum(share.tokens_in for share in used.shares) == used.tokens_in
    assert used.costs == {"USD": 0.107}


def test_a_price_counts_cached_tokens_apart_and_its_most_covers_every_mix() -> None:  # EX-63
    assert PRICE.cost(USED) == (600 * 2 + 400 * 0.5 + 100 * 10) / 1_000_000
    dear = PRICE.model_copy(update={"cached_per_million": 5.0})
    too_low = [
        (price, cached)
        for price in (PRICE, dear, PRICE.model_copy(update={"cached_per_million": None}))
        for cached in (0, 1, 999, 1000)
        if price.cost(USED.model_copy(update={"tokens_cached": cached})) > price.most(1000, 100)
    ]
    assert not too_low


def test_a_list_price_is_taken_only_where_it_is_right() -> None:  # EX-63
    per = {"litellm_provider": "openai", "input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06}
    prices = {
        "plain": per | {"cache_read_input_token_cost": 5e-07},
        "tiers": per | {"input_cost_per_token_above_200k_tokens": 4e-06},
        "other": per | {"litellm_provider": "azure"},
        "half": {"litellm_provider": "openai", "input_cost_per_token": 2e-06},
    }
    found = {name: listed(prices, replace(CONNECTOR, model=name)) for name in (*prices, "unknown")}
    assert found.pop("plain") == Price(input_per_million=2, output_per_million=8, cached_per_million=0.5)
    assert [name for name, price in found.items() if price is not None] == []
    assert listed(prices, replace(CONNECTOR, model="plain", parameters={"service_tier": "priority"})) is None


def test_the_most_of_a_call_is_a_token_for_each_byte_and_a_limit_that_is_sent() -> None:
    tool = Tool("look", "crm", "look", description="é" * 50)
    prompt = replace(PROMPT, messages=[Message(role="user", content="ж" * 100)], tools=[tool])
    assert most_in(prompt) >= 200 + 100
    sent, most = bounded(prompt)
    assert (sent.options, most) == ({"max_tokens": 4096}, 4096)
    given = replace(prompt, options={"max_tokens": 50, "n": 3})
    assert bounded(given) == (given, 150)


def test_of_two_ceilings_for_a_run_the_lower_holds() -> None:
    own = Ceilings(run=Ceiling(money=2, tokens=10), day=Ceiling(tokens=50))
    team = Ceilings(run=Ceiling(money=1), day=Ceiling(money=9), currency="USD")
    found = limits_of(Payer(TEAM, MEMBER, "a", "e1"), own, team)
    assert [(limit.key, limit.daily, limit.money, limit.tokens) for limit in found] == [
        ("run:e1:USD", False, BILLION, 10),
        (f"robot:{TEAM}.{MEMBER}:USD", True, None, 50),
        (f"team:{TEAM}:USD", True, 9 * BILLION, None),
    ]
    assert [limit.key for limit in limits_of(Payer(TEAM, MEMBER, "a"), own, Ceilings())] == [found[1].key]


Answering = Callable[[Prompt], Awaitable[Any]]


Answering = Callable[[Prompt], Awaitable[Any]]


class Metered:
    """A model behind a meter, for one run with these ceilings."""

    def __init__(self, *replies: Any, answer: Answering | None = None, **ceilings: Any) -> None:
        self.budget, self.scripted = InMemoryBudget(), ScriptedModel(*replies, last=REPLY, answer=answer)
        self.observed: list[tuple[CallOutcome, ModelCall]] = []
        self.robots = InMemoryRobots()
        self.ceilings = Ceilings(**ceilings)
        self.set(self.ceilings)
        self.meter = Meter(
            budget=self.budget,
            prices=ConnectorPrices(),
            ceilings=TeamCeilings(),
            find_robot=self.robots.find,
            observe=self._observe,
        )

    def set(self, ceilings: Ceilings) -> None:
        self.robots.put(a_robot(config={"ceilings": ceilings.model_dump()}))

    async def _observe(self, payer: Payer, prompt: Prompt, outcome: CallOutcome, call: ModelCall) -> None:
        self.observed.append((outcome, call))

    async def ask(self, prompt: Prompt = PROMPT) -> ModelReply:
        payer = Payer(TEAM, MEMBER, "writer", "e1", self.ceilings)
        return await self.meter.of(self.scripted, payer).complete(prompt)

    async def spent(self) -> Amount:
        room = await self.budget.room(replace(WIDE, tokens=0, money=0))
        return Amount(-room.tokens, -room.money)


NEED = most_in(PROMPT) + 4096


async def test_without_a_ceiling_nothing_is_reserved_and_the_cost_is_known() -> None:  # EX-63
    metered = Metered()
    reply = await metered.ask()
    assert reply.call is not None
    assert (reply.call.cost, reply.call.currency, reply.call.agent) == (0.0024, "USD", "writer")
    assert metered.observed == [(CallOutcome.ANSWERED, reply.call)]
    assert (await metered.spent(), metered.scripted.prompts[0].options) == (Amount(), {})


async def test_a_call_below_its_ceiling_is_settled_by_what_it_took() -> None:  # F12
    metered = Metered(run=Ceiling(tokens=NEED, money=1))
    await metered.ask()
    assert await metered.spent() == Amount(1100, 2_400_000)
    with pytest.raises(AtCeiling, match=r"of this run \(1 USD and \d+ tokens\).* up to \d+ tokens") as reached:
        await metered.ask()
    assert (reached.value.need.tokens, len(metered.scripted.prompts)) == (NEED, 1)
    metered.set(Ceilings(run=Ceiling(tokens=2 * NEED)))
    await metered.ask()  # raised meanwhile


async def test_of_calls_at_once_none_goes_over_and_the_late_ones_try_again() -> None:  # F12
    go = asyncio.Event()

    async def slow(prompt: Prompt) -> ModelReply:
        await go.wait()
        return REPLY

    metered = Metered(answer=slow, run=Ceiling(tokens=2 * NEED))
    asked = [asyncio.create_task(metered.ask()) for _ in range(20)]
    while len([each for each in asked if each.done()]) < 18:
        await asyncio.sleep(0)
    go.set()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in found if isinstance(each, Exception)] == [Transient] * 18
    assert (len(metered.scripted.prompts), await metered.spent()) == (2, Amount(2200, 4_800_000))


async def test_what_may_have_been_billed_stays_spent_and_what_surely_was_not_does_not() -> None:  # F12
    unmeasured = REPLY.model_copy(update={"call": ModelCall(model="small-1")})
    stays = {"timeout": Transient("timeout"), "no numbers": unmeasured}
    free = {"refused": Permanent("refused"), "not taken": NotTaken("429")}
    wrong = []
    for name, reply in (stays | free).items():
        metered = Metered(reply, run=Ceiling(tokens=NEED))
        try:
            await metered.ask()
        except (Permanent, Transient):
            assert metered.observed[0][0] is not CallOutcome.ANSWERED
        if (await metered.spent()).tokens != (NEED if name in stays else 0):
            wrong.append(name)
    assert not wrong


async def test_a_model_without_a_price_is_refused_under_a_ceiling_in_money_alone() -> None:  # F12
    bare = replace(PROMPT, connector=replace(CONNECTOR, price=None))
    francs = replace(PROMPT, connector=replace(CONNECTOR, price=PRICE.model_copy(update={"currency": "CHF"})))
    for prompt in (bare, francs):
        with pytest.raises(Permanent, match="needs a price in USD of every model, and connector small has none"):
            await Metered(run=Ceiling(money=1)).ask(prompt)
    await Metered(run=Ceiling(tokens=NEED)).ask(bare)


def test_the_file_of_ceilings_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "ceilings.yaml"
    file.write_text(json.dumps({"acme": {"day": {"money": 5}}, "*": {"run": {"tokens": 9}}}))
    ceilings = TeamCeilings(file)
    assert (ceilings.of("acme").day.money, ceilings.of("globex").run.tokens) == (5, 9)
    changes = [('{"acme": {"dya": {}}}', 5), ('{"acme": {"day": {"money": 7}}}', 7)]
    for number, (text, expected) in enumerate(changes, 1):
        file.write_text(text)
        os.utime(file, (number, number))
        ceilings.refresh()
        assert ceilings.of("acme").day.money == expected
    assert not ceilings.of("globex").there
    file.write_text("acme: {day: {money: -1}}")
    with pytest.raises(CeilingsFileError, match=r"ceilings\.yaml"):
        TeamCeilings(file)
