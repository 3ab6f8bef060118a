"""The media of a prompt, in the form that a model takes: read from the team's attachments or the web, and checked."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from executor.agents.connectors import Connector
from executor.domain.conversation.media import NOUNS, as_medium
from executor.file_ports import Files, WebPictures
from executor.steps.used_agents import AskAgent, no_agents, reply_of
from executor.steps.web_pictures import KeepPictures, picture_name
from rota_common.errors import Permanent
from rota_common.material import Frame
from rota_common.redaction import without_credentials
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.attachment import StoredAttachment, parse
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.media import MEDIA_BYTES, MEDIUM_BYTES, READABLE, TEXT_LIMIT, Media, MediaKind
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json

CAPABILITIES = {MediaKind.IMAGE: "vision", MediaKind.AUDIO: "audio", MediaKind.FILE: "multimodal"}
VERBS = {MediaKind.IMAGE: "see pictures", MediaKind.AUDIO: "hear sound", MediaKind.FILE: "read files"}
DESCRIBE = {
    MediaKind.IMAGE: "Describe this picture to one who can't see it: what is in it, and all words in it as they are.",
    MediaKind.AUDIO: "Write this sound down for one who can't hear it: all words as they are said, what else it is.",
}
FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


@dataclass(frozen=True)
class _Read:
    """A medium with its content."""

    kind: MediaKind
    name: str
    content_type: str
    content: bytes


@dataclass(frozen=True)
class Shown:
    """Messages as a model is sent them; `left_out`: why which of their media aren't among them."""

    messages: list[Message]
    left_out: list[str]


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """The run that media are shown to, its `agent` and that one's connector. `elsewhere`: can another agent of the
    robot do this, so that this one may go without? `used`: the agent that does it in this one's place, or empty.
    `fetches`: pictures of the web, too."""

    connector: Connector
    team: str
    member: str
    run_id: str
    frame: Frame
    elsewhere: Callable[[str], bool]
    used: Callable[[str], str] = lambda capability: ""
    fetches: bool = True
    agent: str = ""

    def describer(self, kind: MediaKind) -> str:
        """The agent that describes a medium in words; empty if its own model takes it, or there is none."""
        needed = CAPABILITIES[kind]
        return "" if self.connector.can(needed) else self.used(needed)


@dataclass(frozen=True, kw_only=True)
class ShowMedia:
    files: Files
    web: WebPictures
    ask_agent: AskAgent = no_agents

    async def __call__(self, messages: Sequence[Message], viewer: Viewer) -> Shown:
        """The messages, with the content of each medium, or with the words of the agent that describes it.

        One that can't be read, because the team doesn't have it or it is too large, is left out with a note. Raises
        Permanent for a medium that no agent can take.
        """
        room, made, left_out = MEDIA_BYTES, list[Message](), list[str]()
        for message in messages:
            if isinstance(message.content, str):
                made.append(message)
                continue
            parts = list[dict[str, Json]]()
            for part in message.content:
                if (medium := as_medium(part)) is None:
                    parts.append(part)
                    continue
                if medium.url and (instead := _unfetched(medium, viewer)):
                    parts += [_text(instead)]
                    continue
                try:
                    found = await self._read(medium, viewer.team, viewer.run_id, room)
                except Permanent as error:
                    left_out.append(f"{NOUNS[medium.kind]} left out: {error}")
                    parts += [_text(f"[{left_out[-1]}]")]
                    continue
                room -= len(found.content)
                parts += await self._shown(found, viewer, left_out)
            made.append(message.model_copy(update={"content": parts}))
        return Shown(made, left_out)

    async def _shown(self, found: _Read, viewer: Viewer, left_out: list[str]) -> list[dict[str, Json]]:
        if not (agent_id := viewer.describer(found.kind)):
            return _parts(found, viewer)
        noun, team = NOUNS[found.kind], viewer.team
        content: list[dict[str, Json]] = [_text(DESCRIBE[found.kind]), _wire(found)]
        request = CallAgent(
            call_id=derived_id("described", viewer.run_id, agent_id, sha256(found.content).hexdigest()),
            team_id=team,
            member_id=viewer.member,
            execution_id=viewer.run_id,
            assistant_id=agent_id,
            messages=[Message(role="user", content=content)],
            metadata={"source": noun},
            callers=[viewer.agent] if viewer.agent else [],
        )
        reply = await reply_of(self.ask_agent, request)
        if reply.error:
            left_out.append(f"{noun} {found.name} left out: agent {agent_id}: {reply.error}")
            return [_text(f"[{left_out[-1]}]")]
        words = viewer.frame.material(noun, excerpt(without_credentials(reply.content), TEXT_LIMIT))
        return [_text(f"[{noun} {found.name}], as agent {agent_id} describes it:\n{words}")]

    async def _read(self, medium: Media, team: str, run_id: str, room: int) -> _Read:
        if medium.problem:
            raise Permanent(f"what was sent can't be shown: {medium.problem}")
        noun = NOUNS[medium.kind]
        if medium.data:
            _check_size(f"a {noun}", len(medium.data) * 3 // 4, room)
            return _Read(medium.kind, medium.name or noun, medium.content_type, _decoded(medium))
        stored = await self._stored(medium, team, run_id)
        _check_size(f"{noun} {stored.name}", stored.size, room)
        kind = _kind(medium.kind, stored.content_type)
        return _Read(kind, stored.name, stored.content_type.partition(";")[0], await self.files.content(stored))

    async def _stored(self, medium: Media, team: str, run_id: str) -> StoredAttachment:
        if medium.url:
            keep = KeepPictures(files=self.files, web=self.web)
            return await keep.kept(medium.url, team=team, run_id=run_id, limit=MEDIUM_BYTES)
        file_id = parse(medium.file).file_id
        if (stored := await self.files.find(team, file_id)) is None:
            noun = NOUNS[medium.kind]
            raise Permanent(f"a {noun} can't be shown: team {team} has no attachment {file_id}, or it is too old")
        return stored


def _kind(named: MediaKind, content_type: str) -> MediaKind:
    """By the content, whatever it was sent as. Raises Permanent for a picture or sound that isn't one."""
    family = content_type.partition("/")[0]
    if family in (MediaKind.IMAGE, MediaKind.AUDIO):
        return MediaKind(family)
    if named is MediaKind.FILE:
        return named
    raise Permanent(f"expected a {NOUNS[named]}, its attachment is {content_type}: send it as a part of type file")


def _check_size(what: str, size: int, room: int) -> None:
    if size > MEDIUM_BYTES:
        raise Permanent(f"{what} has {size} bytes: a model is shown at most {MEDIUM_BYTES}")
    if size > room:
        raise Permanent(
            f"{what} is too much: a model is shown at most {MEDIA_BYTES} bytes of pictures and files at once"
        )


def _decoded(medium: Media) -> bytes:
    try:
        return base64.b64decode("".join(medium.data.split()), validate=True)
    except ValueError as error:
        raise Permanent(f"expected the data of a {NOUNS[medium.kind]} in base64: {error}") from error


def _parts(found: _Read, viewer: Viewer) -> list[dict[str, Json]]:
    label = f"[{NOUNS[found.kind]} {found.name}]"
    if found.kind is MediaKind.FILE and found.content_type.startswith(READABLE):
        text = excerpt(found.content.decode(errors="replace"), TEXT_LIMIT)
        return [_text(f"{label}\n{viewer.frame.material('file', text)}")]
    if lacking := _lacking(found.kind, found.name, viewer):
        return [_text(lacking)]
    return [_text(label), _wire(found)]


def _unfetched(medium: Media, viewer: Viewer) -> str:
    """The words in place of a picture that needn't be fetched; empty if it must be."""
    name = picture_name(medium.url)
    if not viewer.fetches:
        return f"[{NOUNS[medium.kind]} {name}] (not fetched in a dry run)"
    return "" if viewer.describer(medium.kind) else _lacking(medium.kind, name, viewer)


def _lacking(kind: MediaKind, name: str, viewer: Viewer) -> str:
    """The words in place of a medium that this connector can't take; empty if it can. Permanent if no agent can."""
    needed, verb, connector = CAPABILITIES[kind], VERBS[kind], viewer.connector
    if connector.can(needed):
        return ""
    if not viewer.elsewhere(needed):
        raise Permanent(
            f"connector {connector.id} can't {verb}, and {name} is one: "
            f"give the agent a connector with the capability {needed}"
        )
    return f"[{NOUNS[kind]} {name}] (you can't {verb}; others who work on this can)"


def _wire(found: _Read) -> dict[str, Json]:
    """In OpenAI's form, which litellm translates for others."""
    data = base64.b64encode(found.content).decode()
    url = f"data:{found.content_type};base64,{data}"
    made: dict[str, Any]
    match found.kind:
        case MediaKind.IMAGE:
            made = {"type": "image_url", "image_url": {"url": url}}
        case MediaKind.AUDIO:
            subtype = found.content_type.partition("/")[2]
            made = {"type": "input_audio", "input_audio": {"data": data, "format": FORMATS.get(subtype, subtype)}}
        case MediaKind.FILE:
            made = {"type": "file", "file": {"filename": found.name, "file_data": url}}
    return made


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}
