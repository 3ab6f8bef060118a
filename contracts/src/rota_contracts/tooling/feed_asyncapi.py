"""The AsyncAPI 3.0 document of the feed: the server, its key, and the channels that a feed client may read.

It is committed as contracts/feed.asyncapi.json, and the gateway serves it at /asyncapi/feed.
"""

from rota_contracts.catalog import FEED, ROOT, Channel
from rota_contracts.envelope import CONTENT_TYPE
from rota_contracts.feed import API_PREFIX, feed_durable, public_channels
from rota_contracts.model import Payload
from rota_contracts.tooling.asyncapi import PARAMETERS, Document, channel_document, schemas_of

SERVER: Document = {
    "host": "{host}",
    "protocol": "nats",
    "description": "The NATS server: `rota up` prints its address.",
    "variables": {"host": {"default": "127.0.0.1:4222", "description": "host and port"}},
    "security": [{"$ref": "#/components/securitySchemes/nkey"}],
}
NKEY: Document = {
    "type": "asymmetricEncryption",
    "description": "A NATS nkey (Ed25519): the client signs the server's nonce with the seed of its key file, which "
    "`rota feed-clients add TEAM NAME` writes.",
}
CONSUMER: Document = {
    "stream": FEED,
    "durable": feed_durable("{team}", "{name}"),
    "api_prefix": API_PREFIX,
    "acknowledge": "each message",
}
"""Where a client of any language finds the messages that are kept for it."""


def feed_asyncapi() -> Document:
    """The document; its version is that of the messages."""
    channels = public_channels()
    return {
        "asyncapi": "3.0.0",
        "id": f"urn:{ROOT.replace('.', ':')}:feed",
        "info": {
            "title": "Rota: the feed",
            "version": ROOT.rpartition(".")[2],
            "description": "What programs of a team read on NATS, each with a key and a position of its own.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": CONTENT_TYPE,
        "servers": {"nats": SERVER},
        "channels": {channel.name: _channel(channel) for channel in channels},
        "operations": {f"receive.{channel.name}": _receive(channel) for channel in channels},
        "components": {
            "schemas": schemas_of(channel.payload for channel in channels),
            "parameters": PARAMETERS,
            "securitySchemes": {"nkey": NKEY},
        },
    }


def _channel(channel: Channel[Payload]) -> Document:
    whole = channel_document(channel)
    if channel.sequenced:
        return whole | {"x-consumer": CONSUMER}
    live = f"{channel.summary} Live: received by those who are connected and subscribed."
    return {name: part for name, part in whole.items() if name != "x-retention"} | {"description": live}


def _receive(channel: Channel[Payload]) -> Document:
    return {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{channel.name}"},
        "messages": [{"$ref": f"#/channels/{channel.name}/messages/event"}],
    }
