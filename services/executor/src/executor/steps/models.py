"""The choice of a model for a call, and of those that it falls back on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

from executor.agents.connectors import ANY, REHEARSAL, Connector, Connectors
from executor.agents.prompt_files import Agent
from executor.agents.routing import Route
from executor.domain.query_class import query_of
from executor.domain.run import Run
from executor.domain.spending import Payer
from executor.model_port import Model, NoAnswer
from executor.spending.budget_port import AtCeiling
from executor.spending.metered_model import Meter
from executor.steps.circuit_breakers import CircuitBreakers, GuardedModel
from rota_common.errors import Permanent
from rota_common.redaction import without_credentials
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import CONNECTOR_FALLBACKS
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Phase

_log = logger(service="executor")


@dataclass(frozen=True)
class Candidate:
    """A connector to ask, and its model. `waited`: the seconds that those before it took; `last`: there is no other to
    fall back on."""

    connector: Connector
    model: Model
    waited: float = 0.0
    last: bool = True


T = TypeVar("T")
Ask = Callable[[Candidate], Awaitable[T]]
"""The question to one candidate, with a prompt made for its connector."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """`rehearsal` answers in every run that isn't in standard mode. Calls of the real one are metered, and pass its
    connector's circuit breaker."""

    connectors: Connectors
    real: Model
    rehearsal: Model
    meter: Meter | None = None
    breakers: CircuitBreakers = field(default_factory=CircuitBreakers)

    def check_offered(self, agent: Agent, wanted: str, *, team: str) -> None:
        """Raise Permanent for a connector that this agent doesn't offer its callers."""
        if not wanted or agent.connector_options == ANY:
            return
        offered = [each.id for each in self.connectors.of(team, agent.connector_options)]
        if wanted not in offered:
            names = ", ".join(offered) or "none of this team's"
            raise Permanent(f"agent {agent.id} may be asked with the connectors {names}, not {wanted!r}")

    def route(self, mode: ExecutorMode, query: str, *, team: str) -> Route | None:
        """The connector for a query that is left to the default one; None: the default, also where this team can't use
        the one that the rules choose."""
        found = self.connectors.routing.route(query) if mode is ExecutorMode.STANDARD else None
        return found if found and self.connectors.is_usable(found.connector, team=team) else None

    def routed(self, run: Run, subject: Phase | Task | None) -> tuple[str, Sequence[str]]:
        """The connector for what a person asks a run, with a note; empty for the default."""
        of = run.execution
        found = self.route(of.executor_mode, query_of(run, subject), team=of.team_id)
        return (found.connector, (found.note,)) if found else ("", ())

    def choose(self, mode: ExecutorMode, *wanted: str, team: str) -> Connector:
        """The first connector named in `wanted`, or the default. Raises Permanent when this team can't use it."""
        standard = mode is ExecutorMode.STANDARD
        return self.connectors.choose(*(wanted if standard else (REHEARSAL,)), team=team)

    async def ask(self, ask: Ask[T], mode: ExecutorMode, *wanted: str, payer: Payer) -> tuple[T, Sequence[str]]:
        """What the first candidate gives whose provider answers, and a note if that is a fallback.

        A fallback never makes things worse: if none of them can do it, the first failure is raised.
        """
        failures = list[Exception]()
        candidates, began = self._candidates(mode, *wanted, payer=payer), monotonic()
        for candidate in candidates:
            try:
                self.breakers.check(candidate.connector.id, alone=len(candidates) == 1)
                given = await ask(replace(candidate, waited=monotonic() - began) if failures else candidate)
            except NoAnswer as error:
                failures.append(error)
            except (Permanent, AtCeiling) as error:
                if not failures:
                    raise
                failures.append(error)
            else:
                return given, _noted(candidates[0].connector.id, candidate.connector.id, failures)
        if len(candidates) > 1:
            _log.warning("no fallback answers", connector=candidates[0].connector.id, reason=_reasons(failures))
        raise failures[0]

    def metered(self, payer: Payer) -> Model:
        """The real model, whatever the circuit breakers say."""
        return self.meter.of(self.real, payer) if self.meter else self.real

    def _candidates(self, mode: ExecutorMode, *wanted: str, payer: Payer) -> Sequence[Candidate]:
        """The chosen one, then its fallbacks that may be asked now."""
        chosen = self.choose(mode, *wanted, team=payer.team)
        if mode is not ExecutorMode.STANDARD or chosen.type == REHEARSAL:
            return [Candidate(chosen, self.rehearsal)]
        fallbacks = self.connectors.fallbacks(chosen, team=payer.team)
        usable = [each for each in fallbacks if not each.problem and not self.breakers.is_open(each.id)]
        guarded = GuardedModel(model=self.metered(payer), breakers=self.breakers, alone=not usable)
        asked = [chosen, *usable]
        return [Candidate(each, guarded, last=each is asked[-1]) for each in asked]


def _noted(first: str, asked: str, failures: Sequence[Exception]) -> Sequence[str]:
    """A note on the fallback that was asked, and why; none if the first one was."""
    if not failures:
        return ()
    CONNECTOR_FALLBACKS.labels(first, asked).inc()
    _log.warning("a fallback was asked", connector=first, fallback=asked, reason=_reasons(failures))
    return (f"connector {asked} asked in place of {first}: {_reasons(failures)}",)


def _reasons(failures: Sequence[Exception]) -> str:
    return without_credentials("; ".join(str(error) for error in failures))
