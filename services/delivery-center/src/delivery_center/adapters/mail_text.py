"""The texts of a mail: subject, plain text and HTML from a result in markdown, or from the operator's templates."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt

from delivery_center.adapters.mail_files import Packed
from delivery_center.domain.outgoing_message import OutgoingMessage
from rota_common.errors import Permanent

SUBJECT_LIMIT = 120
REHEARSAL = "[rehearsal]"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_PAGE = '<!doctype html><html><head><meta charset="utf-8"></head><body>$body</body></html>'


@dataclass(frozen=True)
class MailTemplate:
    """Each may use the variables of `_variables`; text and HTML also $body. None: without a template."""

    subject: str | None = None
    text: str | None = None
    html: str | None = None


def mail_template(name: str | None, folder: Path | None) -> MailTemplate:
    """`<folder>/<name>.subject`, `.txt` and `.html`, as many as there are. Raises Permanent if there is none."""
    if name is None:
        return MailTemplate()
    if folder is None:
        raise Permanent(f"expected the folder of mail templates in ROTA_MAIL_TEMPLATES for template {name!r}")
    files = [folder / f"{name}.{kind}" for kind in ("subject", "txt", "html")] if _NAME.fullmatch(name) else []
    texts = [file.read_text(encoding="utf-8") if file.is_file() else None for file in files]
    if not any(text is not None for text in texts):
        wanted = "<name>.subject, <name>.txt or <name>.html"
        raise Permanent(f"expected a template {name!r}: there is no such file {wanted} in ROTA_MAIL_TEMPLATES")
    return MailTemplate(*texts)


def subject(outgoing: OutgoingMessage, template: str | None) -> str:
    """One line. `template` may use $summary, $member_id, $display_name, $execution_id and $score. A rehearsal's mail
    says so: its readers can't know that no model wrote it."""
    text = Template(template).safe_substitute(_variables(outgoing)) if template else outgoing.content.summary
    line = " ".join([*([REHEARSAL] if outgoing.context.rehearsed else []), *text.split()])
    return line if len(line) <= SUBJECT_LIMIT else line[: SUBJECT_LIMIT - 1] + "…"


def plain(outgoing: OutgoingMessage, packed: Sequence[Packed] = (), template: str | None = None) -> str:
    """The markdown, and the attachments or why they are missing."""
    body = _markdown(outgoing, packed)
    return body if template is None else Template(template).safe_substitute(_variables(outgoing), body=body)


def page(outgoing: OutgoingMessage, packed: Sequence[Packed] = (), template: str | None = None) -> str:
    """The same as HTML; tags in the markdown are escaped."""
    body = _MARKDOWN.render(_markdown(outgoing, packed))
    variables = {name: html.escape(value) for name, value in _variables(outgoing).items()}
    return Template(_PAGE if template is None else template).safe_substitute(variables, body=body)


def _markdown(outgoing: OutgoingMessage, packed: Sequence[Packed]) -> str:
    attached = [_line(each) for each in packed]
    return "\n".join([outgoing.body, *(["", "## Attachments", "", *attached] if attached else [])])


def _line(packed: Packed) -> str:
    attachment = packed.attachment
    described = f": {attachment.description}" if attachment.description else ""
    return f"- {attachment.title}{described} ({packed.note})"


def _variables(outgoing: OutgoingMessage) -> dict[str, str]:
    score = outgoing.context.score
    return {
        "summary": outgoing.content.summary,
        "member_id": outgoing.context.member_id,
        "display_name": outgoing.robot.display_name or outgoing.context.member_id,
        "execution_id": outgoing.context.execution_id,
        "score": "" if score is None else f"{score:g}",
    }
