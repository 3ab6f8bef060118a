"""Fallbacks: what is asked in place of a connector whose provider doesn't answer, and its circuit breaker."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from services.executor.tests.fixtures import EQUIPPED, a_task, at, with_tasks
from services.executor.tests.harness import LOOKUP, StepHarness

from executor.adapters.in_memory import InMemoryCalls, InMemoryRobots, ScriptedModel
from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.connectors import Connectors
from executor.agents.operator_files import ConnectorFileError
from executor.agents.team_ceilings import TeamCeilings
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.domain.circuit_breaker import Circuit, after_failure, before_call
from executor.domain.conversation.chat import ModelReply
from executor.domain.outcomes import Compacted
from executor.domain.spending import Payer
from executor.domain.steps import Compact, RunTurn
from executor.model_port import NoAnswer, NotTaken, Prompt
from executor.spending.metered_model import Meter
from executor.steps.circuit_breakers import CircuitBreakers
from executor.steps.models import Candidate, Models
from rota_common.errors import Permanent, Transient
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.messages.usage import ModelCall, Usage
from rota_contracts.robots.robot import Phase

FILES = {
    "first": "teams: '*'\nfallbacks: [theirs, broken, plain, last]\noptions: {model: big}",
    "theirs": "teams: [globex]\noptions: {model: theirs}",
    "broken": "teams: '*'\noptions: {model: keyless, key: $ENV.NOT_SET}",
    "plain": "teams: '*'\nfallbacks: [alone]\noptions: {model: small, capabilities: {tool_calls: false, vision: false},"
    " price: {input_per_million: 2, output_per_million: 10}}",
    "last": "teams: '*'\noptions: {model: last}",
    "alone": "teams: '*'\noptions: {model: single}",
}
USED = Usage(tokens_in=1000, tokens_out=100)
NOTE = "connector plain asked in place of first: refused"


class Providers:
    """Models behind the connectors of FILES, of which those in `down` fail with these errors."""

    def __init__(self, folder: Path, **down: Exception) -> None:
        for name, text in FILES.items():
            (folder / f"{name}.yaml").write_text(f"label: {name}\ntype: openai\n{text}\n")
        self.connectors, self.clock = Connectors("first", environ={}, folder=folder), SetClock()
        self.down, self.text = down, "Done."
        self.model = ScriptedModel(answer=self._answer)
        self.meter = Meter(
            budget=InMemoryBudget(),
            prices=ConnectorPrices(),
            ceilings=TeamCeilings(),
            find_robot=InMemoryRobots().find,
            observe=self._observe,
        )
        self.models = Models(
            views=TeamViews(connectors=self.connectors),
            real=self.model,
            rehearsal=ScriptedModel(last="canned"),
            meter=self.meter,
            breakers=CircuitBreakers(clock=self.clock),
        )
        self.shop = StepHarness(self.model)
        compact = replace(self.shop.run_step.compact, models=self.models)
        self.shop.run_step = replace(self.shop.run_step, models=self.models, compact=compact)

    async def _answer(self, prompt: Prompt) -> ModelReply | Exception:
        if prompt.on_text is not None:
            await prompt.on_text(f"{prompt.connector.id.capitalize()} says this much. " * 5)
        failure = self.down.get(prompt.connector.id)
        return failure or ModelReply(text=self.text, call=ModelCall(model=prompt.connector.model, usage=USED))

    async def _observe(self, *_: Any) -> None: ...

    @property
    def asked(self) -> list[str]:
        """The connectors that were asked since the last look."""
        found = [prompt.connector.id for prompt in self.model.prompts]
        self.model.prompts.clear()
        return found

    async def ask(
        self, wanted: str = "first", mode: ExecutorMode = ExecutorMode.STANDARD, *, timeout: float = 60
    ) -> str:
        """The connector that answers a call without a run."""

        async def ask(candidate: Candidate) -> str:
            prompt = Prompt([Message(role="user", content="Go.")], candidate.connector, timeout, "s1")
            await candidate.model.complete(prompt)
            return candidate.connector.id

        view = await self.models.views.of(TEAM)
        return (await self.models.ask(ask, mode, wanted, payer=Payer(TEAM, MEMBER, "writer"), view=view))[0]

    async def failure(self, wanted: str = "first") -> Exception:
        with pytest.raises((Transient, Permanent)) as raised:
            await self.ask(wanted)
        return raised.value


async def test_a_step_goes_to_the_next_usable_connector_at_once_with_a_prompt_of_its_own(tmp_path: Path) -> None:
    providers = Providers(tmp_path, first=NotTaken("refused"))
    run = await providers.shop.task_done(with_tasks(a_task(1), robot=EQUIPPED))
    first, second = providers.model.prompts
    assert providers.asked == ["first", "plain"]  # neither the one of another team nor the one without its key
    described = f'"name": "{LOOKUP.name}", "description"'
    assert (described in first.messages[0].text(), described in second.messages[0].text()) == (False, True)
    (result,) = run.execution.results
    assert result.output is not None
    assert (result.output.inline, run.failures, run.execution.notes[1:]) == ("Done.", 0, [NOTE])
    (call,) = [entry.call for entry in run.unsaved if entry.call is not None]
    assert (call.connector, call.model, call.cost) == ("plain", "small", 0.003)


async def test_what_was_streamed_of_a_broken_answer_counts_no_more(tmp_path: Path) -> None:
    providers = Providers(tmp_path, first=NoAnswer("breaks off"))
    providers.text = "Plain says this much. " * 5
    await providers.shop.task_done(with_tasks(a_task(1), robot=EQUIPPED))
    cleared = providers.shop.pieces.index((0, ""))
    before, after = providers.shop.pieces[:cleared], providers.shop.pieces[cleared + 1 :]
    assert all("First" in text for _, text in before[:1])
    assert [number for number, _ in after] == [*range(1, len(after) + 1)]
    assert "".join(text for _, text in after).strip() == providers.text.strip()


async def test_phases_compactions_and_calls_of_agents_fall_back_too(tmp_path: Path) -> None:
    providers = Providers(tmp_path, first=NotTaken("refused"))
    run = await providers.shop.step(at(Phase.GOALS))
    assert (providers.asked, run.execution.notes[1:]) == (["first", "plain"], [NOTE])
    step = Compact(step_id="c1", turn=1, rounds=1, of=a_task(1))
    (compacted,) = [each async for each in providers.shop.run_step(at(RunTurn), step)]
    assert isinstance(compacted.outcome, Compacted)
    assert (providers.asked, compacted.outcome.summary, compacted.problems) == (["first", "plain"], "Done.", (NOTE,))
    call = CallAgents(
        calls=InMemoryCalls(),
        runs=InMemoryRuns(),
        models=providers.models,
        clock=providers.clock,
        lease=LeaseSettings("one", 10),
    )
    given: dict[str, Any] = {"call_id": "c1", "team_id": TEAM, "member_id": MEMBER, "assistant_id": "rota.learning"}
    reply = await call(CallAgent(**given, messages=[Message(content="Learn.")], timeout=100))
    timeouts = [prompt.timeout for prompt in providers.model.prompts]
    assert (providers.asked, reply.model, reply.error) == (["first", "plain"], "small", "")
    assert timeouts[0] == 50  # the time of a call is shared
    assert timeouts[1] == pytest.approx(50, abs=5)


async def test_only_what_another_provider_may_answer_falls_back(tmp_path: Path) -> None:
    refusal, store = Permanent("refused for ever"), Transient("the store is away")
    first, away = NoAnswer("503", after=None), NoAnswer("timeout")
    cases: list[tuple[dict[str, Exception], Exception | None, list[str]]] = [
        ({"first": refusal}, refusal, ["first"]),
        ({"first": store}, store, ["first"]),
        ({"first": first, "plain": refusal}, None, ["first", "plain", "last"]),
        ({"first": first, "plain": away, "last": refusal}, first, ["first", "plain", "last"]),
        ({"first": first, "plain": store}, store, ["first", "plain"]),
    ]
    wrong = []
    for down, expected, asked in cases:
        providers = Providers(tmp_path, **down)
        failure = None if expected is None else await providers.failure()
        if expected is None:
            await providers.ask()
        if (failure, providers.asked) != (expected, asked):
            wrong.append((down, failure))
    assert not wrong
    providers = Providers(tmp_path, first=first)
    assert (await providers.ask(mode=ExecutorMode.DRYRUN), providers.asked) == ("rehearsal", [])


async def test_after_three_failures_a_connector_is_skipped_until_one_call_has_probed_it(tmp_path: Path) -> None:
    providers = Providers(tmp_path, first=NoAnswer("503"))
    for _ in range(3):
        assert await providers.ask() == "plain"
    assert providers.asked == ["first", "plain"] * 3
    assert (await providers.ask(), providers.asked) == ("plain", ["plain"])
    providers.clock.forward(30)
    await asyncio.gather(providers.ask(), providers.ask())
    assert sorted(providers.asked) == ["first", "plain", "plain"]  # one of the two probes
    providers.clock.forward(59)
    assert (await providers.ask(), providers.asked) == ("plain", ["plain"])
    del providers.down["first"]
    providers.clock.forward(1)
    assert [await providers.ask(), await providers.ask()] == ["first", "first"]
    providers.down["first"] = NoAnswer("503")
    assert (await providers.ask(), providers.asked) == ("plain", ["first", "first", "first", "plain"])


async def test_the_short_limits_of_one_teams_robot_open_no_breaker_for_all(tmp_path: Path) -> None:
    providers = Providers(tmp_path, first=NoAnswer("timeout"))
    for _ in range(5):
        await providers.ask(timeout=5)
    assert providers.asked == ["first", "plain"] * 5
    providers.down["first"] = NotTaken("refused")
    for _ in range(4):
        await providers.ask(timeout=5)
    assert providers.asked == ["first", "plain"] * 3 + ["plain"]


async def test_without_a_fallback_a_connector_is_asked_as_before(tmp_path: Path) -> None:
    providers = Providers(tmp_path, alone=NoAnswer("503"))
    failures = [await providers.failure("alone") for _ in range(5)]
    assert (failures, providers.asked) == ([providers.down["alone"]] * 5, ["alone"] * 5)
    providers.down["plain"] = NoAnswer("500")
    assert await providers.failure("plain") is providers.down["plain"]  # the only fallback's breaker is open
    assert providers.asked == ["plain"]


async def test_a_connector_is_not_asked_in_the_pause_that_its_provider_asked_for(tmp_path: Path) -> None:
    busy = NotTaken("429", after=120)
    providers = Providers(tmp_path, first=busy, alone=busy)
    assert [await providers.ask(), await providers.ask(), *providers.asked] == ["plain"] * 2 + ["first"] + ["plain"] * 2
    assert await providers.failure("alone") is busy
    providers.clock.forward(50)
    held = await providers.failure("alone")
    assert isinstance(held, NoAnswer)
    assert (str(held), held.after) == ("429; its circuit breaker is open", 70)
    assert providers.asked == ["alone"]
    providers.clock.forward(70)
    again = providers.down["alone"] = NotTaken("429", after=1)
    assert await providers.failure("alone") is again  # of a probe: what the provider asks for holds, and no longer
    providers.down.clear()
    providers.clock.forward(1)
    assert [await providers.ask("alone"), await providers.ask()] == ["alone", "first"]


def test_a_breaker_stays_open_for_longer_each_time_up_to_five_minutes() -> None:
    circuit, now, found = Circuit(failures=2), NOON, []
    for _ in range(6):
        opened = after_failure(circuit, "503", pause=None, probe=circuit.open_until is not None, now=now)
        found.append(opened.rest(now))
        now = opened.open_until or now
        circuit, probe = before_call(opened, now=now)
        assert probe
    assert found == [30, 60, 120, 240, 300, 300]


def test_fallbacks_that_can_not_be_used_are_all_named(tmp_path: Path) -> None:
    texts = {"a": "[b, nowhere, a, b, rehearsal]", "b": "[gone]"}
    for name, fallbacks in texts.items():
        (tmp_path / f"{name}.yaml").write_text(f"label: X\nteams: '*'\ntype: openai\nfallbacks: {fallbacks}\n")
    with pytest.raises(ConnectorFileError) as raised:
        Connectors("a", environ={}, folder=tmp_path)
    assert str(raised.value) == (
        "expected fallbacks to be other connectors that ask a model, got 'nowhere' of a, which isn't there; "
        "'a' of a, itself; 'b' of a, twice; 'rehearsal' of a, whose answers are canned; 'gone' of b, which isn't there"
    )


def test_a_team_is_shown_the_fallbacks_that_it_may_use(tmp_path: Path) -> None:
    connectors = Providers(tmp_path).connectors
    shown = {
        team: {each.id: each.fallbacks for each in connectors.of(team).providers()}["first"]
        for team in (TEAM, "globex")
    }
    assert shown == {TEAM: ["broken", "plain", "last"], "globex": ["theirs", "broken", "plain", "last"]}
