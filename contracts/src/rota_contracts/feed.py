"""What programs outside may hear, and how a named subscriber of a team reads the feed (F8, F22).

A team's programs are in a NATS account of their own. They hear the team's facts as they pass, and each named subscriber
reads the stream of deliveries through a durable consumer that was made for it. With any client of NATS: an API prefix
for JetStream, the stream's and the consumer's name are all it needs.
"""

from rota_contracts.catalog import ANYONE, CHANNELS, FEED, ROOT, Channel
from rota_contracts.model import Payload

API_PREFIX = "rota.js"
"""Under this prefix a team's account reaches its own consumers, and nothing else of JetStream."""


def public_channels() -> list[Channel[Payload]]:
    """What a team may hear of its own robots."""
    return [channel for channel in CHANNELS.values() if ANYONE in channel.consumers]


def team_subjects(team: str) -> list[str]:
    """The subjects of a team's public facts. One for each channel: a pattern like `rota.v1.*.*.<team>.*` would also
    match a process of another team whose name has the right number of dots."""
    return [channel.subject(team, "*") for channel in public_channels()]


def feed_subject(team: str) -> str:
    """What a team's subscriber reads of the stream: all its deliveries."""
    return f"{ROOT}.delivery.*.{team}.*"


def subscriber_durable(team: str, name: str) -> str:
    """The consumer of a named subscriber in the stream of the feed. Neither name can hold `=`."""
    return f"{team}={name}"


def consumer_api(team: str, name: str) -> list[str]:
    """What a subscriber's programs ask JetStream, without the prefix: its consumer's state, the next messages."""
    durable = subscriber_durable(team, name)
    return [f"CONSUMER.INFO.{FEED}.{durable}", f"CONSUMER.MSG.NEXT.{FEED}.{durable}"]


def ack_subject(team: str, name: str) -> str:
    """Where its programs acknowledge."""
    return f"$JS.ACK.{FEED}.{subscriber_durable(team, name)}.>"
