"""What each user of the bus may publish and subscribe, as the catalog says: the server refuses all else (F22)."""

from collections.abc import Iterable
from dataclasses import dataclass

from rota_contracts.catalog import CHANNELS, FEED, QUESTIONS, ROOT, Channel, dead_subject
from rota_contracts.feed import API_PREFIX, ack_subject, consumer_api, team_subjects
from rota_contracts.model import Payload
from rota_contracts.streams import ATTACHMENTS_BUCKET, OUTPUTS_BUCKET, ROBOTS_BUCKET, consumers

API = "$JS.API"
TOPOLOGY = "topology"
OPERATOR = "operator"
GATEWAY = "trigger-gateway"
SPARE_S = 30
"""An answer may be this many seconds later than its question's timeout, and still leaves."""

PROCESS_ANSWER_S = 600
"""How long a team's program may take to answer a process."""


@dataclass(frozen=True)
class Permissions:
    """`answers`: for how many seconds a message that asks for an answer may be answered; None: not at all."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: int | None = None


# What the catalog doesn't say: who uses which bucket, and for what.
READS_ROBOTS = frozenset({GATEWAY, "scheduler", "executor", "delivery-center", "learner", "memory"})
FOLLOWS_ROBOTS = frozenset({"scheduler"})
WRITES_ROBOTS = frozenset({GATEWAY})
READS_OBJECTS = {
    OUTPUTS_BUCKET: frozenset({"executor", "validator", "delivery-center"}),
    ATTACHMENTS_BUCKET: frozenset({GATEWAY, "delivery-center"}),
}
WRITES_OBJECTS = {OUTPUTS_BUCKET: frozenset({"executor"}), ATTACHMENTS_BUCKET: frozenset({GATEWAY})}
CALLS_PROCESSES = frozenset({"executor", "delivery-center"})
HEARS_ALL = frozenset({GATEWAY})
"""It shows people their team's facts as they pass."""


def inbox(name: str) -> str:
    """The prefix of a user's inboxes: each reads only its own, so that no answer is read by others."""
    return f"_INBOX_{name}"


def of_service(service: str) -> Permissions:
    """A service's line of the catalog, and the parts of JetStream that it needs for it."""
    heard = [
        channel
        for channel in CHANNELS.values()
        if service in HEARS_ALL or (channel.stream is None and service in channel.consumers)
    ]
    answered = [question for question in QUESTIONS.values() if question.answered_by == service]
    return Permissions(
        publish=_sorted(
            *_facts(service),
            *(question.subject for question in QUESTIONS.values() if service in question.asked_by),
            *([f"{ROOT}.process.*.>"] if service in CALLS_PROCESSES else []),
            *_consuming(service),
            *_robots(service),
            *_objects(service),
        ),
        subscribe=_sorted(
            f"{inbox(service)}.>",
            *(question.subject for question in answered),
            *(channel.pattern for channel in heard),
        ),
        answers=int(max(question.timeout for question in answered)) + SPARE_S if answered else None,
    )


def of_topology() -> Permissions:
    """Makes streams, consumers and buckets what they should be; publishes nothing into them."""
    verbs = ("INFO", "STREAM.CREATE.*", "STREAM.UPDATE.*", "STREAM.INFO.*", "CONSUMER.INFO.*.*")
    creating = ("CONSUMER.CREATE.>", "CONSUMER.DURABLE.CREATE.>")
    return Permissions(tuple(f"{API}.{verb}" for verb in (*verbs, *creating)), (f"{inbox(TOPOLOGY)}.>",))


def of_operator() -> Permissions:
    """For people's tools: all of JetStream's administration, everything heard, nothing said in a service's name."""
    return Permissions((f"{API}.>", "$JS.ACK.>", "$JS.FC.>"), (">",))


def of_feed_client(team: str, name: str) -> Permissions:
    """A team's program in the team's own account: it hears the team's facts, reads its own consumer, answers processes.

    `$SRV.>` is what clients' service frameworks listen to beside their endpoints; it doesn't leave the account.
    """
    return Permissions(
        publish=(*(f"{API_PREFIX}.{verb}" for verb in consumer_api(team, name)), ack_subject(team, name)),
        subscribe=("_INBOX.>", *team_subjects(team), f"{ROOT}.process.{team}.>", "$SRV.>"),
        answers=PROCESS_ANSWER_S,
    )


def _facts(service: str) -> Iterable[str]:
    """What it produces; for the gateway also what it sends back from the dead letters on an administrator's word."""
    for channel in CHANNELS.values():
        if service in channel.producers or (service == GATEWAY and _can_be_buried(channel)):
            yield channel.pattern
    if service == GATEWAY:
        yield from (f"{API}.{verb}.DEAD" for verb in ("STREAM.MSG.GET", "STREAM.MSG.DELETE"))
    if any(channel.sequenced and service in channel.producers for channel in CHANNELS.values()):
        yield from (
            f"{API}.{verb}" for verb in (f"STREAM.MSG.GET.{FEED}", f"DIRECT.GET.{FEED}", f"DIRECT.GET.{FEED}.>")
        )


def _can_be_buried(channel: Channel[Payload]) -> bool:
    return any(consumer.filter_subject == channel.pattern for consumer in consumers())


def _consuming(service: str) -> Iterable[str]:
    for consumer in consumers():
        if consumer.service == service:
            of = f"{consumer.stream}.{consumer.durable}"
            yield from (f"{API}.CONSUMER.INFO.{of}", f"{API}.CONSUMER.MSG.NEXT.{of}", f"$JS.ACK.{of}.>")
            yield dead_subject(consumer.filter_subject)


def _robots(service: str) -> Iterable[str]:
    stream, keys = f"KV_{ROBOTS_BUCKET}", f"$KV.{ROBOTS_BUCKET}.>"
    if service in READS_ROBOTS:
        yield from (f"{API}.STREAM.INFO.{stream}", f"{API}.DIRECT.GET.{stream}.{keys}")
    if service in WRITES_ROBOTS:
        yield keys
    if service in FOLLOWS_ROBOTS:
        # Short-lived consumers, of nothing but definitions: whoever may make a consumer chooses where its messages go.
        verbs = (f"CREATE.{stream}.*.{keys}", f"INFO.{stream}.*", f"MSG.NEXT.{stream}.*")
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
