"""Permissions of the bus's users, derived from the catalog: the server rejects everything else."""

from collections.abc import Iterable
from dataclasses import dataclass

from rota_contracts.catalog import (
    AGENT_CALLS,
    CHANNELS,
    EXECUTION_REQUESTED,
    FEED,
    QUESTIONS,
    ROOT,
    Channel,
    agent_subject,
    dead_subject,
)
from rota_contracts.feed import API_PREFIX, ack_subject, consumer_api, team_subjects
from rota_contracts.messages.agent import LONGEST_S
from rota_contracts.model import Payload
from rota_contracts.streams import (
    ATTACHMENTS_BUCKET,
    BACKED_UP,
    BACKED_UP_FIRST,
    BUCKETS,
    DEFINITIONS_BUCKET,
    HANDLING_STREAM,
    OUTPUTS_BUCKET,
    REDRIVE,
    ROBOTS_BUCKET,
    STREAMS,
    consumers,
    handling_subject,
)

API = "$JS.API"
TOPOLOGY = "topology"
BACKUP = "backup"
OPERATOR = "operator"
GATEWAY = "trigger-gateway"
SPARE_S = 30
"""Seconds by which a reply may exceed its question's timeout and is still allowed."""

ANSWER_PARTS = 16
"""The most messages in which a service answers a request."""

PROCESS_ANSWER_S = 600
"""Seconds that a team's program may take to reply to a process call."""


@dataclass(frozen=True)
class Permissions:
    """`answers`: the seconds within which a request may be replied to; None: not at all. `parts`: the messages
    that a reply may have."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: int | None = None
    parts: int = 1


# The use of buckets, which the catalog doesn't hold.
KEYS = {ROBOTS_BUCKET: ">", DEFINITIONS_BUCKET: "current.>"}
"""The keys of each key-value bucket that are followed."""

READS_KEYS = {
    ROBOTS_BUCKET: frozenset({GATEWAY, "scheduler", "executor", "delivery-center", "learner", "memory"}),
    DEFINITIONS_BUCKET: frozenset({GATEWAY, "executor"}),
}
FOLLOWS_KEYS = {
    ROBOTS_BUCKET: frozenset({"scheduler", "executor", "delivery-center", "memory"}),
    DEFINITIONS_BUCKET: frozenset({"executor"}),
}
WRITES_KEYS = {ROBOTS_BUCKET: frozenset({GATEWAY}), DEFINITIONS_BUCKET: frozenset({GATEWAY})}
READS_OBJECTS = {
    OUTPUTS_BUCKET: frozenset({"executor", "validator", "delivery-center"}),
    ATTACHMENTS_BUCKET: frozenset({GATEWAY, "delivery-center", "executor"}),
}
WRITES_OBJECTS = {OUTPUTS_BUCKET: frozenset({"executor"}), ATTACHMENTS_BUCKET: frozenset({GATEWAY, "executor"})}
CALLS_PROCESSES = frozenset({"executor", "delivery-center"})
SEARCHES = {"scheduler": ((EXECUTION_REQUESTED, "executor"),)}
"""Channels in whose stream a service looks for what it has published, and whose progress it looks at for that."""

ANSWERS_PROGRAMS: dict[str, tuple[tuple[str, ...], int]] = {GATEWAY: ((AGENT_CALLS,), LONGEST_S)}
"""What services answer to teams' programs, and the seconds that it may take."""

MEASURES = frozenset({GATEWAY, "scheduler"})
"""They begin new work, and read the size of all streams before it."""

SUBSCRIBES_TO_ALL = frozenset({GATEWAY})
"""It streams a team's facts to people."""


def inbox(name: str) -> str:
    """The prefix of a user's inboxes: each reads only its own, so that no reply is read by others."""
    return f"_INBOX_{name}"


def of_service(service: str) -> Permissions:
    """The permissions of a service: its part of the catalog, and the parts of JetStream that it needs for it."""
    subscribed = [
        channel
        for channel in CHANNELS.values()
        if service in SUBSCRIBES_TO_ALL or (channel.stream is None and service in channel.consumers)
    ]
    answered = [question for question in QUESTIONS.values() if question.answered_by == service]
    to_programs, longest = ANSWERS_PROGRAMS.get(service, ((), 0))
    longest = max([longest, *(int(question.timeout) for question in answered)])
    return Permissions(
        publish=_sorted(
            *_facts(service),
            *(question.subject for question in QUESTIONS.values() if service in question.asked_by),
            *([f"{ROOT}.process.*.>"] if service in CALLS_PROCESSES else []),
            *_consuming(service),
            *_keys(service),
            *_objects(service),
        ),
        subscribe=_sorted(
            f"{inbox(service)}.>",
            *(question.subject for question in answered),
            *to_programs,
            *(channel.pattern for channel in subscribed),
        ),
        answers=longest + SPARE_S if longest else None,
        parts=ANSWER_PARTS,
    )


def of_topology() -> Permissions:
    """The permissions to create and update streams, consumers and buckets, but to publish nothing into them."""
    verbs = ("INFO", "STREAM.CREATE.*", "STREAM.UPDATE.*", "STREAM.INFO.*", "CONSUMER.INFO.*.*")
    creating = ("CONSUMER.CREATE.>", "CONSUMER.DURABLE.CREATE.>")
    return Permissions(tuple(f"{API}.{verb}" for verb in (*verbs, *creating)), (f"{inbox(TOPOLOGY)}.>",))


def of_backup() -> Permissions:
    """The permissions to read whole streams, those that belong to a backup, and to write nothing."""
    streams = [f"{API}.STREAM.{verb}.{name}" for name in BACKED_UP_FIRST + BACKED_UP for verb in ("INFO", "SNAPSHOT")]
    acks = [f"$JS.SNAPSHOT.ACK.{name}.>" for name in BACKED_UP_FIRST + BACKED_UP]
    return Permissions((f"{API}.INFO", *streams, *acks), (f"{inbox(BACKUP)}.>",))


def of_operator() -> Permissions:
    """The permissions of people's tools: JetStream's administration and every subscription, but no facts."""
    return Permissions((f"{API}.>", "$JS.ACK.>", "$JS.FC.>"), (">",))


def of_feed_client(team: str, name: str, *, calls: bool = False) -> Permissions:
    """The permissions of a team's program in the team's account: the team's facts, its own consumer, its processes;
    with `calls`, the team's agents.

    `$SRV.>` is for clients' service frameworks, besides their endpoints; it doesn't leave the account.
    """
    return Permissions(
        publish=(
            *(f"{API_PREFIX}.{verb}" for verb in consumer_api(team, name)),
            ack_subject(team, name),
            *([agent_subject(team, ">")] if calls else []),
        ),
        subscribe=("_INBOX.>", *team_subjects(team), f"{ROOT}.process.{team}.>", "$SRV.>"),
        answers=PROCESS_ANSWER_S,
    )


def _facts(service: str) -> Iterable[str]:
    """The facts that it publishes; for the gateway also those that an administrator redrives from the dead letters."""
    for channel in CHANNELS.values():
        if service in channel.producers or (service == GATEWAY and _can_be_buried(channel)):
            yield channel.pattern
    if service == GATEWAY:
        yield from (f"{API}.{verb}.DEAD" for verb in ("STREAM.MSG.GET", "STREAM.MSG.DELETE"))
        yield from _mark(handling_subject(REDRIVE, "*"))
    for searched, reader in SEARCHES.get(service, ()):
        yield f"{API}.DIRECT.GET.{searched.stream}"
        yield f"{API}.CONSUMER.INFO.{searched.stream}.{searched.durable(reader)}"
    if service in MEASURES:
        yield from (f"{API}.STREAM.INFO.{each}" for each in (*(s.name for s in STREAMS), *(b.stream for b in BUCKETS)))
    if any(channel.sequenced and service in channel.producers for channel in CHANNELS.values()):
        yield from (
            f"{API}.{verb}"
            for verb in (f"STREAM.INFO.{FEED}", f"STREAM.MSG.GET.{FEED}", f"DIRECT.GET.{FEED}", f"DIRECT.GET.{FEED}.>")
        )


def _can_be_buried(channel: Channel[Payload]) -> bool:
    return any(consumer.filter_subject == channel.pattern for consumer in consumers())


def _consuming(service: str) -> Iterable[str]:
    for consumer in consumers():
        if consumer.service == service:
            of = f"{consumer.stream}.{consumer.durable}"
            yield from (f"{API}.CONSUMER.INFO.{of}", f"{API}.CONSUMER.MSG.NEXT.{of}", f"$JS.ACK.{of}.>")
            yield dead_subject(consumer.filter_subject)
            yield from _mark(handling_subject(consumer.durable, "*"))


def _mark(subject: str) -> Iterable[str]:
    """To write and to read marks."""
    yield from (subject, f"{API}.DIRECT.GET.{HANDLING_STREAM}.{subject}")


def _keys(service: str) -> Iterable[str]:
    for bucket, followed in KEYS.items():
        stream, keys = f"KV_{bucket}", f"$KV.{bucket}.>"
        if service in READS_KEYS[bucket]:
            yield from (f"{API}.STREAM.INFO.{stream}", f"{API}.DIRECT.GET.{stream}.{keys}")
        if service in WRITES_KEYS[bucket]:
            yield keys
            yield f"{API}.STREAM.PURGE.{stream}"  # of what is over, and of all of a removed team
        if service in FOLLOWS_KEYS[bucket]:
            # Ephemeral consumers of these keys alone: the permission to create one includes its delivery subject.
            verbs = (f"CREATE.{stream}.*.$KV.{bucket}.{followed}", f"INFO.{stream}.*", f"MSG.NEXT.{stream}.*")
            yield from (f"{API}.CONSUMER.{verb}" for verb in verbs)


def _objects(service: str) -> Iterable[str]:
    for bucket, readers in READS_OBJECTS.items():
        stream, writes = f"OBJ_{bucket}", service in WRITES_OBJECTS[bucket]
        if service in readers or writes:
            yield f"{API}.STREAM.MSG.GET.{stream}"
        if writes:
            yield from (f"$O.{bucket}.>", f"{API}.STREAM.INFO.{stream}", f"{API}.STREAM.PURGE.{stream}")


def _sorted(*subjects: str) -> tuple[str, ...]:
    return tuple(sorted(set(subjects)))
