"""The texts of notices, in markdown. No I/O.

Whatever a robot, a model or a stranger wrote stands in a fence that it can't close: no link of theirs is one in a mail.
"""

import re
from datetime import UTC, datetime

from rota_contracts.messages.approval import Approval, ApprovalStatus
from rota_contracts.messages.notice import TEXT_LIMIT

SUBJECT_LIMIT = 200
MESSAGE_LIMIT = 2_000


def call_text(approval: Approval) -> str:
    """The call that waits, as people are asked about it."""
    return f"[Approval Required]\nTool: {approval.tool}\nArgs: {approval.arguments}"


def approval_subject(approval: Approval, robot: str) -> str:
    return one_line(f"Approval required: {approval.tool} ({robot})", SUBJECT_LIMIT)


def approval_text(approval: Approval, robot: str) -> str:
    why = f"Why it waits: {approval.reason}\n" if approval.reason else ""
    facts = f"Robot: {robot}\n{why}Execution: {approval.execution_id}\nUntil: {instant(approval.expires_at)}"
    said = f"A call of the robot `{approval.member_id}` waits for your decision. Without one it is denied then.\n\n"
    return said + fenced(f"{call_text(approval)}\n\n{facts}")


def outcome(approval: Approval) -> str:
    """A sentence about an approval that isn't pending any more."""
    at = f" at {instant(approval.decided_at)}" if approval.decided_at else ""
    match approval.status:
        case ApprovalStatus.EXPIRED:
            return f"no decision came in time, so the call was denied{at}"
        case ApprovalStatus.WITHDRAWN:
            return f"the run that wanted the call has ended, so it was not made{at}"
        case _:
            by = f" by {approval.decided_by}" if approval.decided_by else ""
            return f"the call was {approval.status}{by}{at}"


def closing(approval_id: str, *, link: str | None, allowed: bool) -> str:
    command = f"`rota approvals decide {_plain(approval_id)}`"
    if not allowed:
        return f"A member of the role admin approves or denies it: {command}."
    if link is None:
        return f"Approve or deny it on the command line: {command}."
    return (
        f"Look at it, then approve or deny it:\n\n<{link}>\n\n"
        f"The link is for you alone, and it is enough to decide: don't pass it on. On the command line: {command}."
    )


def failed_text(robot: str, member: str, execution_id: str, message: str) -> str:
    facts = f"Robot: {robot}\nExecution: {execution_id}\n\n{message[:MESSAGE_LIMIT] or 'no message'}"
    more = f"More: `rota executions show {_plain(execution_id)}`."
    return f"A run of the robot `{member}` has failed.\n\n{fenced(facts)}\n{more}"


def question_text(robot: str, member: str, execution_id: str, question: str) -> str:
    facts = f"Robot: {robot}\nExecution: {execution_id}\n\n{question[:MESSAGE_LIMIT] or 'no question'}"
    more = f'Answer it on the command line: `rota answer {_plain(execution_id)} "…"`.'
    return f"A run of the robot `{member}` waits for an answer.\n\n{fenced(facts)}\n{more}"


def recovered_text(robot: str, member: str, execution_id: str, _: str = "") -> str:
    facts = f"Robot: {robot}\nExecution: {execution_id}"
    return f"A run of the robot `{member}` has completed after a failed one.\n\n{fenced(facts)}"


def fenced(text: str) -> str:
    """The text as a block of code."""
    fence = "`" * (1 + max([2, *(len(run) for run in re.findall(r"`+", text))]))
    return f"{fence}\n{text[: TEXT_LIMIT - 2_000]}\n{fence}\n"


def one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _plain(name: str) -> str:
    """An id that stands in a span of code."""
    return re.sub(r"[^A-Za-z0-9._:-]", "", name)
