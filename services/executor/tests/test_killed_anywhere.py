"""Runs of every shape, killed before and after each of their effects: no work is lost, and none is done twice."""

import base64
import json
from typing import Any

import pytest
from services.executor.tests.fixtures import BAD, EQUIPPED, GOOD, REPORT, new_run
from services.executor.tests.harness import calls
from services.executor.tests.killed_processes import live
from services.executor.tests.killed_world import Cut, Shape, World
from services.executor.tests.test_media import asked as asked_about
from services.executor.tests.test_media import image
from services.executor.tests.test_plain_requests import asked

from executor.domain.conversation.made_files import file_id, line
from executor.domain.planning import interpret
from executor.model_port import ContextOverflow
from rota_common.testing.samples import TEAM
from rota_contracts.messages.attachment import wrap
from rota_contracts.messages.conversation import ToolUse

GOALS, REPORTED = "## Goals\n1. Look them up", '{"summary": "Done.", "body": "# Done"}'
TOO_LONG = ContextOverflow("model m of connector c: ContextWindowExceededError")
PNG, SENT = b"\x89PNG\r\n-a picture-", "e" * 32
ASKS = calls(("ask_person", {"question": "Which Globex: the German or the French one?"}))
BOTH = calls(("crm__lookup", {}), ("crm__note", {"text": "x"}), text="Both.")
TWICE = calls(("crm__lookup", {"n": 1}), ("crm__lookup", {"n": 2}))
AGAIN = BAD.model_copy(update={"need_reply": True, "reply_content": "Give figures."})
PAYMENTS = [
    {"id": f"t{number}", "description": "Pay", "executor_type": "process", "executor_id": name, **rules}
    for number, (name, rules) in enumerate(
        [("crm.ping", {}), ("crm.pay", {}), ("crm.pay", {"validation_rules": ["must contain 'answered'"]})], 1
    )
]


def plan(*names: str, **fields: Any) -> str:
    tasks = [{"id": name, "description": f"Look {name}", "executor_id": "experts.writer", **fields} for name in names]
    return json.dumps({"tasks": tasks})


def look(number: int) -> Any:
    return calls(("crm__lookup", {"n": number}))


def finds(size: int) -> Any:
    async def found(world: World, use: ToolUse) -> str:
        return f"{use.name} found " + "x" * size

    return found


async def draws(world: World, use: ToolUse) -> str:
    """A tool that makes a picture, which the team keeps."""
    kept = await world.files.keep(TEAM, file_id(use.step_id, 1), "cat.png", "image/png", PNG)
    return line(kept.name, "image/png, 16 bytes", wrap(kept.file_id))


def shapes() -> dict[str, Shape]:
    """Of the tools, `crm.lookup` may be called again, and `crm.note` may not."""
    planned, pictures = new_run(robot=EQUIPPED), [f"data:image/png;base64,{base64.b64encode(PNG).decode()}", wrap(SENT)]
    with_pictures = asked_about(*map(image, pictures)).model_copy(update={"robot": EQUIPPED})
    return {
        "two tasks with tools, and a conversation that is compacted": Shape(
            run=planned,
            says=[GOALS, plan("a", "b"), *map(look, range(5)), "done", BOTH, "done", REPORTED],
            tools=finds(8_000),
            window=9_000,
        ),
        "prompts that the provider refuses as too long": Shape(
            run=planned,
            says=[GOALS, plan("a"), look(1), look(2), TOO_LONG, TOO_LONG, look(3), "x" * 8_000, REPORTED],
            tools=finds(8_000),
        ),
        "pictures of a person, and of a tool": Shape(
            run=with_pictures, says=[GOALS, plan("a", "b"), look(1), "drawn", look(2), "done", REPORTED], tools=draws,
            sent={SENT: PNG},
        ),
        "a plain request with a question to the person": Shape(
            run=asked(), says=[ASKS, "It is bigger.", REPORTED], tools=finds(10), person="The German one."
        ),
        "a clock's run that looks things up": Shape(
            run=new_run("clock", robot=EQUIPPED),
            says=[TWICE, look(3), REPORT, GOALS, plan("a"), "done", REPORTED],
            tools=finds(10),
        ),
        "a verdict that asks for more": Shape(
            run=planned,
            says=[GOALS, plan("a", "b", expected_output="figures"), look(1), "none", look(2), "7", "8", REPORTED],
            tools=finds(10),
            verdicts=[AGAIN, GOOD, GOOD],
        ),
        "processes, of which one has a rule": Shape(
            run=planned,
            says=[GOALS, json.dumps({"tasks": PAYMENTS}), REPORTED],
            tools=finds(10),
        ),
    }  # fmt: skip


@pytest.mark.soak
async def test_a_run_that_is_killed_anywhere_goes_on_as_if_it_were_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # F1 F9 F24 EX-92
    """The world stands still for a run that is killed before an effect, and changes for one that is killed after it."""
    monkeypatch.setattr(interpret, "INLINE_LIMIT", 1_000)  # what is longer goes to the object store
    offences = []
    for name, shape in shapes().items():
        uncut = await live(World(shape, Cut()))
        for number, effect in enumerate(uncut.cut.effects, 1):
            for after in (False, True):
                world = await live(World(shape, Cut(number, after), uncut=uncut, changing=after))
                place = f"{name}, {'after' if after else 'before'} effect {number} ({effect})"
                offences += [f"{place}: {each}" for each in world.offences]
        offences += [f"{name}, uncut: {each}" for each in uncut.offences]
        if (await uncut.run()).execution.status != "completed" or len(uncut.replies) < len(shape.says):
            offences.append(f"{name}: the run doesn't have this shape")
    assert offences == []
