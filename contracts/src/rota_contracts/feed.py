"""The feed: the facts that programs outside receive, and the durable consumers of a team's feed clients.

A team's programs connect to a NATS account of their own. They receive the team's public facts as they are published,
and each named feed client reads the stream of deliveries through a durable consumer of its own. Any NATS client can: it
needs the API prefix of JetStream, and the names of the stream and of the consumer.
"""

from rota_contracts.catalog import ANYONE, CHANNELS, FEED, ROOT, Channel
from rota_contracts.model import Payload

API_PREFIX = "rota.js"
"""The prefix under which a team's account reaches its own consumers, and nothing else of JetStream."""


def public_channels() -> list[Channel[Payload]]:
    """The channels that a team's programs may subscribe to."""
    return [channel for channel in CHANNELS.values() if ANYONE in channel.consumers]


def team_subjects(team: str) -> list[str]:
    """The subjects of a team's public facts. One for each channel: a pattern like `rota.v1.*.*.<team>.*` would also
    match a process of another team whose name has the right number of dots."""
    return [channel.subject(team, "*") for channel in public_channels()]


def feed_subject(team: str) -> str:
    """The filter subject of a team's feed clients: all its deliveries."""
    return f"{ROOT}.delivery.*.{team}.*"


def feed_durable(team: str, name: str) -> str:
    """The name of a feed client's consumer. Neither name can hold `=`."""
    return f"{team}={name}"


def consumer_api(team: str, name: str) -> list[str]:
    """The JetStream requests of a feed client, without the prefix: the consumer's state, the next messages."""
    durable = feed_durable(team, name)
    return [f"CONSUMER.INFO.{FEED}.{durable}", f"CONSUMER.MSG.NEXT.{FEED}.{durable}"]


def ack_subject(team: str, name: str) -> str:
    """The subject on which a feed client acknowledges."""
    return f"$JS.ACK.{FEED}.{feed_durable(team, name)}.>"
