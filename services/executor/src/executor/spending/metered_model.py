"""The meter of models: each call is priced, observed, and kept below the ceilings of the one who pays."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from time import monotonic
from uuid import uuid4

from executor.agents.prices import Price
from executor.agents.team_ceilings import TeamCeilings
from executor.domain.conversation.chat import ModelReply
from executor.domain.run import Need
from executor.domain.spending import BILLION, Limit, Payer, limits_of
from executor.model_port import Model, NotTaken, Prompt
from executor.spending.budget_port import Amount, AtCeiling, Budget, Prices
from executor.spending.most_tokens import bounded, most_in
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_common.runtime.metrics import CEILING_REFUSALS
from rota_contracts.messages.spend import CallOutcome
from rota_contracts.messages.usage import ModelCall
from rota_contracts.robots.robot import Robot

for _scope in ("run", "robot", "team"):
    CEILING_REFUSALS.labels(_scope)  # 0 first: a rate needs where it began

SLACK_S = 60
"""A call that has ended later than its timeout allows has died."""

Observe = Callable[[Payer, Prompt, CallOutcome, ModelCall], Awaitable[None]]
FindRobot = Callable[[str, str], Awaitable[Robot | None]]
_log = logger(service="executor")


@dataclass(frozen=True, kw_only=True)
class Meter:
    """`find_robot`: asked where a robot had ceilings, because they may have been raised since."""

    budget: Budget
    prices: Prices
    ceilings: TeamCeilings
    find_robot: FindRobot
    observe: Observe

    def of(self, model: Model, payer: Payer) -> "MeteredModel":
        return MeteredModel(self, model, payer)

    async def limits(self, payer: Payer) -> Sequence[Limit]:
        """Those that hold now; none without ceilings, and nothing is asked then."""
        own, team = payer.own, self.ceilings.of(payer.team)
        if own.there and (robot := await self.find_robot(payer.team, payer.member)) and not robot.deleted:
            own = robot.robot_config.ceilings
        return limits_of(payer, own, team)


@dataclass(frozen=True)
class MeteredModel:
    """Raises AtCeiling, without a call, where there is no room for it; Transient while other calls hold that room."""

    meter: Meter
    model: Model
    payer: Payer

    async def complete(self, prompt: Prompt) -> ModelReply:
        price = await self.meter.prices.of(prompt.connector)
        limits = await self.meter.limits(self.payer)
        if not limits:
            return await self._observed(prompt, price)
        prompt, most_out = bounded(prompt)
        need = needed(most_in(prompt), most_out, price)
        reservation = uuid4().hex
        await self._reserve(limits, price, need, prompt, reservation)
        taken: Amount | None = None
        try:
            reply = await self._observed(prompt, price)
            taken = _taken(reply.call)
        except (Permanent, NotTaken):
            taken = Amount()
            raise
        finally:
            if taken is not None:
                await self._settle(limits, need, taken, reservation)
        return reply

    async def _observed(self, prompt: Prompt, price: Price | None) -> ModelReply:
        """The reply with what it took, its cost too; failed calls are observed as well."""
        began, connector = monotonic(), prompt.connector
        call = ModelCall(model=connector.model)
        outcome = CallOutcome.FAILED
        try:
            reply = await self.model.complete(prompt)
            outcome, call = CallOutcome.ANSWERED, reply.call or call
        except Permanent:
            outcome = CallOutcome.REFUSED
            raise
        finally:
            cost = price.cost(call.usage) if price and call.usage else None
            of = {"agent": self.payer.agent, "connector": connector.id, "provider": connector.type}
            call = call.model_copy(update={**of, "seconds": round(monotonic() - began, 3)})
            call = call.model_copy(update={"cost": cost, "currency": price.currency if price else ""})
            await self.meter.observe(self.payer, prompt, outcome, call)
        return reply.model_copy(update={"call": call}) if reply.call else reply

    async def _reserve(
        self, limits: Sequence[Limit], price: Price | None, need: Need, prompt: Prompt, reservation: str
    ) -> None:
        for limit in limits:
            if limit.money is not None and (price is None or price.currency != limit.currency):
                raise Permanent(
                    f"{limit.words()} needs a price in {limit.currency} of every model, and connector "
                    f"{prompt.connector.id} has none: add options.price to its file"
                )
        hold = timedelta(seconds=prompt.timeout + SLACK_S)
        for number, limit in enumerate(limits):
            full = await self.meter.budget.reserve(limit, amount_of(need), reservation=reservation, hold=hold)
            if full is None:
                continue
            await self._settle(limits[:number], need, Amount(), reservation)
            if full.open:
                raise Transient(f"{limit.words()} is held by other calls of models that are under way")
            CEILING_REFUSALS.labels(limit.scope).inc()
            raise AtCeiling(_no_room(limit, need), need)

    async def _settle(self, limits: Sequence[Limit], need: Need, taken: Amount, reservation: str) -> None:
        """What can't be settled stays reserved: the answer counts more."""
        for limit in limits:
            try:
                await self.meter.budget.settle(limit, amount_of(need), taken, reservation=reservation)
            except Exception as error:
                _log.warning("a reservation stays", budget=limit.key, reason=repr(error))


def needed(tokens_in: int, tokens_out: int, price: Price | None) -> Need:
    tokens = tokens_in + tokens_out
    if price is None:
        return Need(tokens=tokens)
    return Need(tokens=tokens, money=ceil(price.most(tokens_in, tokens_out) * BILLION), currency=price.currency)


def amount_of(need: Need) -> Amount:
    return Amount(need.tokens, need.money or 0)


def _taken(call: ModelCall | None) -> Amount | None:
    """None where the provider doesn't say: then all that was reserved counts."""
    if call is None or call.usage is None:
        return None
    return Amount(call.usage.tokens_in + call.usage.tokens_out, ceil((call.cost or 0.0) * BILLION))


def _no_room(limit: Limit, need: Need) -> str:
    money = f", {need.money / BILLION:g} {need.currency}" if need.money is not None else ""
    return (
        f"There is no room below {limit.words()} for the next call of a model, which may take up to {need.tokens} "
        f"tokens{money}."
    )
