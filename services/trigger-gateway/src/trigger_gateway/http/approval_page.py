"""The page of an approval's link: plain HTML without a script, a style or anything else to load. No I/O."""

from html import escape

from fastapi import Response

from trigger_gateway.approvals.decide_by_link import OpenedLink
from trigger_gateway.approvals.notice_texts import call_text, instant, outcome

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow, noarchive",
}

_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">'
    "<title>{title}</title></head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
)
_FORM = (
    '<form method="post">'
    '<p><button name="decision" value="approve">Approve this call</button> '
    '<button name="decision" value="deny">Deny it</button></p></form>'
)


def approval_page(opened: OpenedLink) -> Response:
    """The call, with its buttons while it waits."""
    approval, person = opened.approval, opened.member.definition
    facts = [
        f"Robot: {opened.robot} ({approval.member_id})",
        *([f"Why it waits: {approval.reason}"] if approval.reason else []),
        f"Execution: {approval.execution_id}",
        f"Until: {instant(approval.expires_at)}; without a decision it is denied then",
        f"You decide as: {person.display_name or person.member_id}",
    ]
    end = _FORM if opened.pending else f"<p>{escape(_sentence(outcome(approval)))}</p>"
    rows = "".join(f"<p>{escape(fact)}</p>\n" for fact in facts)
    return page(200, "Approval required", f"<pre>{escape(call_text(approval))}</pre>\n{rows}{end}")


def message_page(status: int, title: str, text: str) -> Response:
    return page(status, title, f"<p>{escape(_sentence(text))}</p>")


def page(status: int, title: str, body: str) -> Response:
    """`body` is HTML."""
    html = _PAGE.format(title=escape(title), body=body)
    return Response(html, status_code=status, media_type="text/html; charset=utf-8", headers=HEADERS)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
