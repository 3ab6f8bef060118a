"""Pictures, sound and files that people send: what a model is shown of them, and the words where it can't be."""

import base64
import json
from pathlib import Path
from typing import Any

from services.executor.tests.fixtures import a_signal, a_task, new_run, with_tasks
from services.executor.tests.harness import StepHarness

from executor.adapters.in_memory import ScriptedModel
from executor.agents.connectors import Connectors
from executor.domain import journal
from executor.domain.run import Run
from executor.domain.steps import AskAgent
from executor.file_ports import Picture
from executor.reads.replay import replay
from rota_common.errors import Transient
from rota_common.testing.samples import NOON, TEAM, a_robot
from rota_contracts.messages.execution import TaskStatus
from rota_contracts.messages.media import MEDIUM_BYTES
from rota_contracts.messages.trigger import TriggerInput
from rota_contracts.robots.robot import Phase

PNG, WAV, PDF = b"\x89PNG\r\n-a picture-", b"RIFF-sound-", b"%PDF-1.4 a paper"
DATA = base64.b64encode(PNG).decode()
CAPABILITIES = {"blind": "vision: false", "deaf": "audio: false", "plain": "multimodal: false"}
REPORT = {"summary": "One.", "body": "# A table"}
PLAN = '{"tasks": [{"description": "Describe it", "executor_id": "rota.run"}]}'


def connectors(folder: Path) -> dict[str, Connectors]:
    """Connectors that lack one capability each."""
    for name, lacks in CAPABILITIES.items():
        text = f"label: X\ntype: openai\nteams: ['*']\noptions:\n  model: m\n  capabilities: {{{lacks}}}\n"
        (folder / f"{name}.yaml").write_text(text)
    return {name: Connectors(name, environ={}, folder=folder) for name in CAPABILITIES}


def stored(harness: StepHarness, name: str, content: bytes, content_type: str, *, team: str = TEAM) -> str:
    return harness.files.add(team, name, content, content_type=content_type, at=NOON).file


def asked(*parts: Any, words: str = "What is this?") -> Run:
    content = [{"type": "text", "text": words}, *parts] if parts else words
    given = {"action": "task.add", "messages": [{"role": "user", "content": content}]}
    return new_run("human", robot=a_robot(), input=TriggerInput.model_validate(given))


def image(value: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": value}}


def audio(value: str, form: str = "wav") -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": value, "format": form}}


def file(value: str) -> dict[str, Any]:
    return {"type": "file", "file": {"file_id": value}}


def parts_in(harness: StepHarness, prompt: int = -1) -> list[dict[str, Any]]:
    """The parts of messages that the model was sent."""
    messages = harness.model.prompts[prompt].messages
    return [part for message in messages if isinstance(message.content, list) for part in message.content]


async def test_a_model_is_sent_what_people_sent_as_base64() -> None:  # TG-08 EX-43
    harness = StepHarness(ScriptedModel("It is a cat."))
    png = stored(harness, "cat.png", PNG, "image/png")
    mp3, pdf = stored(harness, "a.mp3", WAV, "audio/mpeg"), stored(harness, "p.pdf", PDF, "application/pdf")
    url, sound = f"data:image/png;base64,{DATA}", base64.b64encode(WAV).decode()
    paper = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    cases = {
        "a picture in the message": (image(url), image(url)),
        "a picture of the team": (image(png), image(url)),
        "a file that is a picture": (file(png.rpartition("/")[2]), image(url)),
        "sound in the message": (audio(sound), audio(sound)),
        "sound of the team": (audio(mp3), audio(sound, "mp3")),
        "a paper": (file(pdf), {"type": "file", "file": {"filename": "p.pdf", "file_data": paper}}),
    }
    wrong = {}
    for name, (sent, expected) in cases.items():
        run = with_tasks(a_task(1, executor_id="rota.run"), run=asked(sent))
        await harness.step(run)
        if (made := [part for part in parts_in(harness) if part["type"] != "text"]) != [expected]:
            wrong[name] = made
    assert wrong == {}


async def test_a_marker_in_a_plain_request_is_a_picture_and_a_file_of_text_is_text() -> None:  # EX-43
    harness = StepHarness(ScriptedModel("It is a cat."))
    png, csv = stored(harness, "cat.png", PNG, "image/png"), stored(harness, "a.csv", b"a,b\n1,2", "text/csv")
    await harness.over(asked(words=f"Describe [image:{png}], not [image:/etc/passwd] or [image: logo]"))
    assert [part["type"] for part in parts_in(harness)] == ["text", "text", "image_url"]
    assert parts_in(harness)[1]["text"] == "[picture cat.png]"
    await harness.step(with_tasks(a_task(1, executor_id="rota.run"), run=asked(file(csv))))
    _, shown = parts_in(harness)
    assert shown["text"].startswith("[file a.csv]\n<material-")
    assert "\na,b\n1,2\n</material-" in shown["text"]


async def test_a_picture_of_the_web_is_fetched_once_and_is_the_same_after_a_crash_and_a_change() -> None:  # EX-43
    harness = StepHarness(ScriptedModel(Transient("busy"), "It is a cat."))
    url = "https://example.com/pets/cat.png?key=sk-secret"
    harness.pictures.there[url] = Picture("image/png", PNG)
    run = asked(image(url), words=f"Describe [image:{url}], not [image:http:/no] or [image: logo]")
    crashed = with_tasks(a_task(1, executor_id="rota.run"), run=run)
    await harness.step(crashed)
    harness.pictures.there[url] = Picture("image/png", b"another")
    await harness.step(crashed)
    first, again = (harness.model.prompts[number].messages for number in (0, 1))
    assert first == again
    assert parts_in(harness)[1:] == [
        {"type": "text", "text": "[picture cat.png]"},
        image(f"data:image/png;base64,{DATA}"),
    ]
    assert harness.pictures.asked == [url]


async def test_in_a_dry_run_no_picture_is_fetched() -> None:  # EX-08
    harness = StepHarness(ScriptedModel("It is a cat."))
    run = asked(image("https://example.com/cat.png"))
    dry = run.with_execution(executor_mode="dryrun")
    await harness.step(with_tasks(a_task(1, executor_id="rota.run"), run=dry))
    assert parts_in(harness)[1:] == [{"type": "text", "text": "[picture cat.png] (not fetched in a dry run)"}]
    assert harness.pictures.asked == []


async def test_what_no_agent_can_take_fails_its_task_in_clear_words(tmp_path: Path) -> None:  # TG-08 EX-43
    harness = StepHarness(ScriptedModel("It is a cat."))
    png = stored(harness, "cat.png", PNG, "image/png")
    pdf = stored(harness, "p.pdf", PDF, "application/pdf")
    lacking = connectors(tmp_path)
    cases: list[tuple[str, Any, str]] = [
        ("blind", image(png), "connector blind can't see pictures, and cat.png is one: give the agent a"),
        ("deaf", audio("UklGRg=="), "connector deaf can't hear sound"),
        ("plain", file(pdf), "connector plain can't read files"),
        ("blind", image("https://example.com/a.png"), "connector blind can't see pictures, and a.png is one"),
    ]
    wrong = []
    for connector, part, reason in cases:
        harness.use(lacking[connector])
        run = await harness.step(with_tasks(a_task(1, executor_id="rota.run"), run=asked(part)))
        (result,) = run.execution.results
        if result.status is not TaskStatus.FAILED or reason not in (result.error or ""):
            wrong.append((connector, reason, result.error))
    assert wrong == []
    assert harness.model.prompts == []
    assert harness.pictures.asked == []


async def test_what_cant_be_read_is_left_out_and_the_model_and_a_note_say_why() -> None:  # TG-08 EX-43
    harness = StepHarness(ScriptedModel("It is a cat."))
    png = stored(harness, "cat.png", PNG, "image/png")
    pdf = stored(harness, "p.pdf", PDF, "application/pdf")
    large = stored(harness, "big.png", bytes(MEDIUM_BYTES + 1), "image/png")
    foreign = stored(harness, "their.png", PNG, "image/png", team="another")
    too_large = f"picture big.png has {MEDIUM_BYTES + 1} bytes: a model is shown at most {MEDIUM_BYTES}"
    cases = [
        (image(large), too_large),
        (image(foreign), f"team {TEAM} has no attachment"),
        (image(pdf), "expected a picture, its attachment is application/pdf"),
        (image("ftp://example.com/a.png"), "what was sent can't be shown: expected an attachment"),
        (image("https://example.com/a.png"), "there is no picture at https://example.com/a.png"),
        (image("data:image/png;base64,%%%"), "expected the data of a picture in base64"),
    ]
    wrong = []
    for part, reason in cases:
        run = await harness.step(with_tasks(a_task(1, executor_id="rota.run"), run=asked(part, image(png))))
        (note,) = [each for each in run.execution.notes if "left out" in each]
        instead, _, shown = parts_in(harness)[1:]
        if reason not in note or note not in instead["text"] or shown != image(f"data:image/png;base64,{DATA}"):
            wrong.append((reason, note, instead))
    assert wrong == []


async def test_a_planner_that_cant_see_plans_without_and_is_shown_that_there_is_a_picture(tmp_path: Path) -> None:
    harness = StepHarness(ScriptedModel('{"content": "1. Describe it"}', PLAN))
    png = stored(harness, "cat.png", PNG, "image/png")
    harness.use(connectors(tmp_path)["blind"])
    run = await harness.until(asked(image(png)), lambda run: run.execution.tasks is not None)
    assert run.execution.error is None
    shown = [[part["text"] for part in parts_in(harness, prompt)][1:] for prompt in (0, 1)]
    assert shown == [["[picture cat.png] (you can't see pictures; others who work on this can)"]] * 2


async def test_a_picture_that_comes_meanwhile_is_shown_from_then_on_and_replays_are_equal() -> None:  # TG-08
    harness = StepHarness(
        ScriptedModel('{"content": "1. Describe it"}', PLAN, "A cat and a dog.", '{"summary": "Two."}')
    )
    run = asked(image(f"data:image/png;base64,{DATA}"))
    run = await harness.until(run, lambda run: run.execution.goals is not None)
    dog = stored(harness, "dog.png", PNG, "image/png")
    signal = a_signal("instruct", messages=[{"role": "user", "content": [image(dog)]}])
    run = journal.record_signals(run.model_copy(update={"inbox": [signal]}), now=NOON)
    run = await harness.over(run)
    seen = [[part["type"] for part in parts_in(harness, number)].count("image_url") for number in range(3)]
    assert seen == [1, 2, 2]
    assert Phase.DELIVERY in [step.phase for step in harness.steps if isinstance(step, AskAgent)]
    assert parts_in(harness, 3) == []
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    assert replay(run, run.unsaved, said, signals=[signal]).difference == ""


async def test_a_file_that_a_person_sent_can_go_with_the_report() -> None:  # EX-92 DC-04
    harness = StepHarness(ScriptedModel('{"content": "1. Describe it"}', PLAN, "A table."))
    csv = stored(harness, "a.csv", b"a,b", "text/csv")
    harness.model._replies.append(json.dumps({**REPORT, "attachments": [{"title": "a.csv", "file": csv}]}))
    run = await harness.over(asked(file(csv)))
    assert run.execution.content is not None
    assert [each.file for each in run.execution.content.attachments] == [csv]
    assert csv in str(harness.model.prompts[-1].messages)


async def test_an_attachment_that_names_no_file_three_times_costs_no_report() -> None:  # DC-04
    bad = json.dumps({**REPORT, "attachments": [{"title": "Policy", "file": "policy.md"}]})
    harness = StepHarness(ScriptedModel('{"content": "1. Describe it"}', PLAN, "A table.", bad, bad, bad))
    run = await harness.over(asked(file(stored(harness, "a.csv", b"a,b", "text/csv"))))
    assert run.execution.content is not None
    assert (run.execution.error, run.execution.content.attachments) == (None, [])
    assert [note for note in run.execution.notes if "policy.md" in note]
    said = [entry.said.inline or "" if entry.said is not None else "" for entry in run.unsaved]
    assert replay(run, run.unsaved, said, signals=[]).difference == ""
