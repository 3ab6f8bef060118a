"""What a mail looks like: subject, text and HTML from a result in markdown."""

import html
import re
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt

from delivery_center.ports import Parcel
from rota_common.errors import Permanent

SUBJECT_LIMIT = 120
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def subject(parcel: Parcel, template: str | None) -> str:
    """One line. `template` may use $summary, $member_id, $display_name, $execution_id and $score."""
    text = Template(template).safe_substitute(_words(parcel)) if template else parcel.content.summary
    line = " ".join(text.split())
    return line if len(line) <= SUBJECT_LIMIT else line[: SUBJECT_LIMIT - 1] + "…"


def plain(parcel: Parcel) -> str:
    """The markdown itself, and what is attached to the result."""
    attached = [
        f"- {attachment.title}" + (f": {attachment.description}" if attachment.description else "")
        for attachment in parcel.content.attachments
    ]
    return "\n".join([parcel.body, *(["", "## Attachments", "", *attached] if attached else [])])


def page(parcel: Parcel, template: str | None, folder: Path | None) -> str:
    """The same as HTML; tags in the markdown are shown and not obeyed.

    A template is `<folder>/<template>.html` and may use $body (HTML) and the words of a subject.
    """
    body = _MARKDOWN.render(plain(parcel))
    if template is None:
        return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{body}</body></html>'
    words = {name: html.escape(word) for name, word in _words(parcel).items()}
    return Template(_read(template, folder)).safe_substitute(words, body=body)


def _read(template: str, folder: Path | None) -> str:
    if folder is None:
        raise Permanent(f"expected the folder of mail templates in ROTA_MAIL_TEMPLATES for template {template!r}")
    if not _NAME.fullmatch(template) or not (file := folder / f"{template}.html").is_file():
        raise Permanent(f"expected a template {template!r}: there is no such file <name>.html in ROTA_MAIL_TEMPLATES")
    return file.read_text(encoding="utf-8")


def _words(parcel: Parcel) -> dict[str, str]:
    score = parcel.context.score
    return {
        "summary": parcel.content.summary,
        "member_id": parcel.context.member_id,
        "display_name": parcel.robot.display_name or parcel.context.member_id,
        "execution_id": parcel.context.execution_id,
        "score": "" if score is None else f"{score:g}",
    }
