"""Checks of what each external system received for the two leads."""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage

from rota.demo.external_systems import Fact, Hook
from rota_contracts.messages.delivery import DeliveryCompletedV1
from rota_contracts.messages.execution import Execution

LEADS = 2
EXCERPT_LINES = 6


@dataclass(frozen=True)
class Check:
    """`lines` describe what the system received."""

    party: str
    ok: bool
    lines: list[str]


def check_sender(accepted: list[str]) -> Check:
    """The sender of the leads: each was accepted, with the id of the run it started."""
    lines = [f"lead accepted, run {execution_id}" for execution_id in accepted]
    return Check("Sender: signed webhook in", len(set(accepted)) == LEADS, lines)


def check_receiver(hooks: list[Hook], runs: list[Execution]) -> Check:
    """Each run's result once, with a signature that the standardwebhooks package accepts."""
    ok = len(hooks) == LEADS and all(hook.verified for hook in hooks) and len({hook.id for hook in hooks}) == LEADS
    texts = [str(hook.body) for hook in hooks]
    ok = ok and all(any(run.execution_id in text for text in texts) for run in runs)
    lines = [
        f"signature {'verified' if hook.verified else 'WRONG'}, webhook-id {hook.id}, type {hook.body.get('type')}"
        for hook in hooks
    ]
    return Check("Receiver: signed webhook out", ok, lines)


def check_mailbox(mails: list[EmailMessage], sender: str) -> Check:
    """A mail for each run, from the robot's own address."""
    ok = len(mails) == LEADS and all(sender in str(mail["From"]) for mail in mails)
    lines = [line for mail in mails for line in _mail(mail)]
    return Check("Mailbox: e-mail over SMTP", ok, lines)


def check_feed_client(facts: list[Fact], runs: list[Execution]) -> Check:
    """A delivery.completed for each run, valid by the contract."""
    events = [(fact, DeliveryCompletedV1.model_validate_json(fact.body)) for fact in facts]
    received = [event.context.execution_id for _, event in events]
    lines = [f"{fact.subject}, ce-id {fact.id}: {event.result.content.summary}" for fact, event in events]
    return Check("Subscriber: feed on NATS", sorted(received) == sorted(run.execution_id for run in runs), lines)


def check_memory(first: Execution, second: Execution, *, must_mention: bool) -> Check:
    """The second run recalled a lesson of the first; the rehearsal also quotes it, a real model need not."""
    recalled = [lesson for lesson in second.recalled if lesson.execution_id == first.execution_id]
    goals = second.goals.content if second.goals else ""
    mentioned = any(lesson.content in goals for lesson in recalled)
    lines = [f"recalled: {lesson.content}" for lesson in recalled]
    lines.append(f"its goals {'quote it' if mentioned else 'do not quote it'}: {' '.join(goals.split())[:200]}")
    ok = bool(recalled) and (mentioned or not must_mention)
    return Check("Memory: the second run knows of the first", ok, lines)


def _mail(mail: EmailMessage) -> Iterator[str]:
    yield f"From: {mail['From']}   Subject: {mail['Subject']}"
    body = mail.get_body(preferencelist=("plain", "html"))
    text = body.get_content() if body is not None else ""
    yield from [f"  {line}" for line in text.splitlines() if line.strip()][:EXCERPT_LINES]
