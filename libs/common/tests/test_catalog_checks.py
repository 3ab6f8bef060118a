"""A service can do nothing on the bus that the catalog doesn't give it."""

from random import Random

import pytest

from rota_common.bus.connection import Bus
from rota_common.bus.publishing import NotInCatalog, Publish
from rota_common.bus.router import Router
from rota_common.bus.rpc import Ask
from rota_common.clock import now
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.samples import NOON
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecutionStartedV1, ReadTrigger

NOWHERE = "nats://127.0.0.1:9"


async def nothing(_: object) -> None: ...


def test_a_channel_of_others_can_not_be_consumed() -> None:
    router = Router()
    router.on(catalog.TRIGGER_RECEIVED, nothing)
    with pytest.raises(ValueError, match=r"executor is not a consumer of rota\.v1\.trigger\.received"):
        Service("executor", NOWHERE).include(router)


def test_a_question_to_others_can_not_be_answered() -> None:
    router = Router()
    router.answer(catalog.READ_TRIGGER, nothing)  # type: ignore[type-var]  # it is refused before it is called
    with pytest.raises(NotInCatalog, match=r"executor doesn't answer rota\.v1\.rpc\.scheduler\.read_trigger"):
        Service("executor", NOWHERE).include(router)


async def test_a_question_of_others_can_not_be_asked() -> None:
    ask = Ask(Bus(NOWHERE, name="learner"), by="learner")
    with pytest.raises(NotInCatalog, match="learner may not ask"):
        await ask(catalog.READ_TRIGGER, ReadTrigger(team_id="acme", trigger_id="t1"))


async def test_a_fact_of_others_can_not_be_published() -> None:
    publish = Publish(Bus(NOWHERE, name="learner"), source="learner", clock=now)
    fact = ExecutionStartedV1(execution_id="e1", team_id="acme", member_id="ann", started_at=NOON)
    with pytest.raises(NotInCatalog, match=r"learner is not a producer of rota\.v1\.execution\.started"):
        await publish(catalog.EXECUTION_STARTED, fact, caused_by="e1")


def test_every_handler_is_wrapped_by_the_middlewares_of_its_runtime() -> None:
    wrapped = []

    def middleware(handler: object) -> object:
        wrapped.append(handler)
        return handler

    router = Router()
    router.on(catalog.EXECUTION_STARTED, nothing)
    router.answer(catalog.READ_TRIGGER, nothing)  # type: ignore[type-var]  # it is never called
    runtime = Runtime(random=Random(7), middlewares=[middleware])  # type: ignore[list-item]  # it only looks
    service = Service("scheduler", NOWHERE, runtime=runtime)
    service.include(router)
    assert len(wrapped) == 2
    assert service.channels == {"execution.started"}
