"""The media of a prompt, in the form that a model takes: read from the team's attachments or the web, and checked."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from executor.agents.connectors import Connector
from executor.domain.conversation.media import NOUNS, ReadMedium, as_medium
from executor.file_ports import Files, WebPictures
from executor.steps.describe_media import Describer
from executor.steps.web_pictures import KeepPictures, picture_name
from rota_common.errors import Permanent
from rota_common.material import Frame
from rota_contracts.messages.attachment import StoredAttachment, parse
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.media import MEDIA_BYTES, MEDIUM_BYTES, READABLE, TEXT_LIMIT, Media, MediaKind
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json

CAPABILITIES = {MediaKind.IMAGE: "vision", MediaKind.AUDIO: "audio", MediaKind.FILE: "multimodal"}
VERBS = {MediaKind.IMAGE: "see pictures", MediaKind.AUDIO: "hear sound", MediaKind.FILE: "read files"}


@dataclass(frozen=True)
class Shown:
    """Messages as a model is sent them; `left_out`: why which of their media aren't among them."""

    messages: list[Message]
    left_out: list[str]


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """The run that media are shown to, and the connector of its agent. `elsewhere`: can another agent of the robot do
    this, so that this one may go without? `used`: who does it in this one's place. `fetches`: pictures of the web,
    too."""

    connector: Connector
    team: str
    run_id: str
    frame: Frame
    elsewhere: Callable[[str], bool]
    used: Callable[[str], Describer | None] = lambda capability: None
    fetches: bool = True

    def describer(self, kind: MediaKind) -> Describer | None:
        """Who describes a medium in words; None if the agent's own model takes it, or there is none."""
        needed = CAPABILITIES[kind]
        return None if self.connector.can(needed) else self.used(needed)


@dataclass(frozen=True, kw_only=True)
class ShowMedia:
    files: Files
    web: WebPictures

    async def __call__(self, messages: Sequence[Message], viewer: Viewer) -> Shown:
        """The messages, with the content of each medium, or with the words of who describes it.

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

    async def _shown(self, found: ReadMedium, viewer: Viewer, left_out: list[str]) -> list[dict[str, Json]]:
        if (describer := viewer.describer(found.kind)) is None:
            return _parts(found, viewer)
        noun = NOUNS[found.kind]
        try:
            said = await describer.describe(found)
        except Permanent as error:
            left_out.append(f"{noun} {found.name} left out: {describer.who}: {error}")
            return [_text(f"[{left_out[-1]}]")]
        words = viewer.frame.material(noun, excerpt(said, TEXT_LIMIT))
        return [_text(f"[{noun} {found.name}], as {describer.who} describes it:\n{words}")]

    async def _read(self, medium: Media, team: str, run_id: str, room: int) -> ReadMedium:
        if medium.problem:
            raise Permanent(f"what was sent can't be shown: {medium.problem}")
        noun = NOUNS[medium.kind]
        if medium.data:
            _check_size(f"a {noun}", len(medium.data) * 3 // 4, room)
            return ReadMedium(medium.kind, medium.name or noun, medium.content_type, _decoded(medium))
        stored = await self._stored(medium, team, run_id)
        _check_size(f"{noun} {stored.name}", stored.size, room)
        kind = _kind(medium.kind, stored.content_type)
        return ReadMedium(kind, stored.name, stored.content_type.partition(";")[0], await self.files.content(stored))

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


def _parts(found: ReadMedium, viewer: Viewer) -> list[dict[str, Json]]:
    label = f"[{NOUNS[found.kind]} {found.name}]"
    if found.kind is MediaKind.FILE and found.content_type.startswith(READABLE):
        text = excerpt(found.content.decode(errors="replace"), TEXT_LIMIT)
        return [_text(f"{label}\n{viewer.frame.material('file', text)}")]
    if lacking := _lacking(found.kind, found.name, viewer):
        return [_text(lacking)]
    return [_text(label), found.part()]


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


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}
