"""The parsing of agents' answers. An unusable one raises an error that says what was expected."""

import re
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from rota_common.json_text import extract_json
from rota_contracts.messages.delivery import Attachment
from rota_contracts.messages.execution import DeliveryTarget, Goals, excerpt
from rota_contracts.model import Json

SUMMARY_LIMIT = 300
"""Characters of a summary that is taken from Markdown."""

SHOWN = 200
"""Characters of an attachment that can't be read, in a note."""


class UnusableAnswer(ValueError):
    """The text is feedback to the agent: expected, got."""


@dataclass(frozen=True)
class Draft:
    """The delivery's content before its body is stored. `notes`: on attachments that are left out."""

    summary: str
    body: str
    attachments: list[Attachment]
    notes: list[str] = field(default_factory=list)
    result: Json = None


def goals(text: str, *, lists: bool = True) -> Goals:
    """`{"content": markdown, "delivery": …}`, or the markdown alone. `lists`: the content may be a list of texts."""
    found = extract_json(text)
    if isinstance(found, dict) and (content := _content(found, lists=lists)).strip():
        return Goals(content=content, delivery=_target(found.get("delivery")))
    if not text.strip():
        raise UnusableAnswer("expected the goals as markdown, got an empty answer")
    return Goals(content=text.strip())


def has_goals(text: str) -> bool:
    """Does the answer hold goals, whatever it says beside them?"""
    found = extract_json(text)
    return isinstance(found, dict) and bool(_content(found, lists=True).strip())


def _content(found: dict[str, Any], *, lists: bool) -> str:
    content = found.get("content")
    if lists and isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content)
    return content if isinstance(content, str) else ""


def needs_input(text: str) -> str | None:
    """The question of an agent that can't go on without a person: `{"status": "need_input", "question": …}`."""
    found = extract_json(text)
    if not isinstance(found, dict) or found.get("status") != "need_input":
        return None
    question = found.get("question")
    if not isinstance(question, str) or not question.strip():
        raise UnusableAnswer('expected a "question" beside "status": "need_input": say what you need to know')
    return question.strip()


SECTIONS = ("Summary", "Highlights", "Opportunities", "Risks", "World News", "Pending")
"""Of an inspiration report."""


def missing_sections(text: str) -> list[str]:
    """The sections that an inspiration report has no heading for."""
    return [name for name in SECTIONS if not re.search(rf"^[#*\s]*{name}\b", text, re.MULTILINE | re.IGNORECASE)]


def report(text: str) -> str:
    """The inspiration report, as markdown."""
    found = extract_json(text)
    if isinstance(found, dict) and isinstance(found.get("content"), str):
        text = found["content"]
    if not text.strip():
        raise UnusableAnswer("expected the report as markdown, got an empty answer")
    return text.strip()


def draft(text: str, *, plain: bool = False, last: bool = False) -> Draft:
    """`{"content": {"summary", "body", "attachments", "result"}}`; the outer `content` may be missing. `plain`:
    Markdown alone is a body, too, and its first lines are the summary. `last`: attachments that can't be read are left
    out, because the report counts."""
    found = extract_json(text)
    if isinstance(found, dict) and isinstance(found.get("content"), dict):
        found = found["content"]
    in_form = isinstance(found, dict) and {"summary", "body", "content"} & found.keys()
    if plain and not in_form and not text.lstrip().startswith(("{", "[")):
        return _of_markdown(text)
    if not isinstance(found, dict):
        raise UnusableAnswer('expected JSON like {"content": {"summary": "…", "body": "…"}}, got text without it')
    summary, body = found.get("summary"), found.get("body")
    if not isinstance(summary, str) or not summary.strip():
        raise UnusableAnswer("expected content.summary, one or two sentences, as a text: it is missing")
    if not isinstance(body, str) or not body.strip():
        raise UnusableAnswer("expected content.body, the whole report in markdown, as a text: it is missing")
    attachments, notes = _attachments(found.get("attachments") or [], last=last)
    return Draft(summary.strip(), body, attachments, notes, found.get("result"))


def _attachments(listed: object, *, last: bool) -> tuple[list[Attachment], list[str]]:
    """Those that can be read, and notes on the others."""
    read, notes = list[Attachment](), list[str]()
    for each in listed if isinstance(listed, list) else [listed]:
        try:
            read.append(Attachment.model_validate(each))
        except ValidationError as error:
            got = excerpt(each, SHOWN)
            if not last:
                expected = "expected attachments as a list of {title, file: __rota.attachment://id}"
                raise UnusableAnswer(f"{expected}, got {got}") from error
            notes.append(f"delivery: an attachment is left out, it names no file of the team: {got}")
    return read, notes


def _of_markdown(text: str) -> Draft:
    body = text.strip()
    if not body or body[0] in "{[":
        raise UnusableAnswer('expected JSON like {"content": {"summary": "…", "body": "…"}}, got none that can be read')
    return Draft(summary_of(body), body, [])


def summary_of(body: str) -> str:
    """The first paragraph; the first heading where nothing else is said."""
    paragraphs = [part.strip() for part in body.split("\n\n") if part.strip()]
    lines = [[line for line in part.splitlines() if not line.lstrip().startswith(("#", "```"))] for part in paragraphs]
    first = next((" ".join(" ".join(part).split()) for part in lines if part), "")
    heading = next((line.lstrip("# ").strip() for line in body.splitlines() if line.strip("# ")), "")
    return excerpt(first or heading or body, SUMMARY_LIMIT)


def _target(raw: object) -> DeliveryTarget | None:
    """A wish, which decides nothing; an unreadable one is dropped."""
    try:
        return DeliveryTarget.model_validate(raw) if isinstance(raw, dict) else None
    except ValidationError:
        return None
