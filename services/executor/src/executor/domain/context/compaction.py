"""The compaction of a conversation: where it is cut, and what a model is sent in place of what was cut off.

A place is the number of a turn and of rounds within it: what stands before it is no longer sent. Sizes are those that
are stored; no text is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from executor.domain.context.tokens import CHARACTERS, PER_MESSAGE, as_json, tokens
from executor.domain.conversation.chat import ChatMessage
from executor.domain.conversation.messages import TOOL_LIMIT, Texts, talk
from executor.domain.run import Context
from rota_common.material import Frame, joined
from rota_contracts.messages.conversation import Round, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message

KEEP, KEEP_MESSAGES = 0.3, 4
"""What stays: this share of the conversation, and at least so many messages."""

KEEP_WITHOUT_SUMMARY = 20
"""Messages that stay when there is no usable summary."""

OVERFLOW_KEEPS, OVERFLOW_CHARS = 12, 600
"""After an overflow that the provider reported: the last messages, and the characters of each."""

OVERFLOW_NOTE = "[Context limit reached, history compacted]"
INSTRUCTION = "Summarize the following conversation history in max 12 bullet points."
SUMMARY_OPTIONS = {"temperature": 0.3, "max_tokens": 1024}
SUMMARY_TIMEOUT_S = 120.0
SUMMARY_CHARS = 1024 * CHARACTERS
SUMMARY, UNDERSTOOD = "[Summary of earlier conversation]", "I understand the context..."

SYSTEM = (
    "You sum up what an assistant has done so far, so that it can go on with its task without the conversation itself. "
    "Keep what was asked, decided, found and done, with names, numbers and ids, and what is still open. "
    "Answer with the summary alone."
)

Place = tuple[int, int]


@dataclass(frozen=True)
class _Piece:
    """A round, or a turn without any: the least that can be cut off."""

    place: Place
    tokens: int
    messages: int


def next_place(turns: Sequence[Turn], context: Context) -> Place | None:
    """Where to cut next: at the border of a turn if there is one in what should stay, else between two rounds. None if
    there is nothing to cut off."""
    pieces = _pieces(turns, context)
    whole = sum(piece.tokens for piece in pieces)
    places = [n for n in range(1, len(pieces)) if sum(piece.messages for piece in pieces[n:]) >= KEEP_MESSAGES]
    if not places:
        return None
    few = (n for n in places if sum(piece.tokens for piece in pieces[n:]) <= KEEP * whole)
    chosen = next(few, places[-1])
    borders = (n for n in places if n >= chosen and pieces[n].place[1] == 0)
    return pieces[next(borders, chosen)].place


def place_of_last(turns: Sequence[Turn], context: Context, messages: int) -> Place:
    """Where the last so many messages begin, as far as rounds stay whole; what isn't sent any more stays so."""
    pieces = _pieces(turns, context)
    few = (n for n in range(len(pieces)) if sum(piece.messages for piece in pieces[n:]) <= messages)
    return pieces[next(few, len(pieces) - 1)].place if pieces else (context.turn, context.rounds)


def place_without_summary(turns: Sequence[Turn], context: Context, planned: Place) -> Place:
    """The last 20 messages stay; if that is all there is, the cut is the planned one: it must not come to nothing."""
    place = place_of_last(turns, context, KEEP_WITHOUT_SUMMARY)
    return place if place > (context.turn, context.rounds) else planned


def end(turns: Sequence[Turn]) -> Place:
    """Behind the last round."""
    return (turns[-1].number, len(turns[-1].rounds)) if turns else (1, 0)


def shown(turns: Sequence[Turn], context: Context) -> list[Turn]:
    """The turns that are still sent. What opens the first of them always is."""
    return _between(turns, (context.turn, context.rounds), None)


def conversation(turns: Sequence[Turn], context: Context, texts: Texts, frame: Frame) -> Iterator[Message]:
    """The messages that are still sent: a summary of the others first, if there is one."""
    if context.summary:
        yield Message(role="user", content=f"{SUMMARY}\n{frame.material('summary', context.summary)}")
        yield ChatMessage(role="assistant", content=UNDERSTOOD)
    begin, short = (context.turn, context.rounds), (context.short_turn, context.short_rounds)
    if short > begin:
        yield from talk(_between(turns, begin, short), texts, frame, limit=OVERFLOW_CHARS)
        yield from talk(_rest(turns, short), texts, frame)
    else:
        yield from talk(_between(turns, begin, None), texts, frame)


def to_sum_up(turns: Sequence[Turn], context: Context, until: Place) -> list[Turn]:
    return _between(turns, (context.turn, context.rounds), until)


def summary_prompt(turns: Sequence[Turn], context: Context, texts: Texts, frame: Frame, subject: str) -> list[Message]:
    """The question for a summary of these turns and of the summary before. `subject`: the task's description."""
    said = "\n\n".join(map(_line, talk(turns, texts, frame, limit=SUMMARY_CHARS)))
    before = f"summary so far: {context.summary}" if context.summary else ""
    about = frame.material("task", excerpt(subject, SUMMARY_CHARS))
    question = joined(INSTRUCTION, about, frame.material("conversation", joined(before, said)))
    return [
        Message(role="system", content=joined(SYSTEM, frame.preamble)),
        Message(role="user", content=question),
    ]


def _line(message: Message) -> str:
    calls = message.tool_calls if isinstance(message, ChatMessage) else []
    called = [f"calls {call.name} {excerpt(as_json(call.arguments))}" for call in calls]
    return f"{message.role}: {' '.join([message.text(), *called]).strip()}"


def _pieces(turns: Sequence[Turn], context: Context) -> list[_Piece]:
    begin, made = (context.turn, context.rounds), list[_Piece]()
    for turn in _between(turns, begin, None):
        first = begin[1] if turn.number == begin[0] else 0
        rounds = [
            _Piece((turn.number, n), _round_tokens(each), 1 + len(each.uses))
            for n, each in enumerate(turn.rounds, first)
        ] or [_Piece((turn.number, first), 0, 0)]
        rounds[0] = _with(rounds[0], tokens(turn.told), bool(turn.told))
        rounds[-1] = _with(rounds[-1], _size(turn.output), turn.output is not None)
        made += rounds
    return made


def _with(piece: _Piece, more: int, message: bool) -> _Piece:
    return _Piece(piece.place, piece.tokens + more + PER_MESSAGE * message, piece.messages + message)


def _round_tokens(each: Round) -> int:
    calls = (tokens(use.name + as_json(use.arguments)) for use in each.uses)
    results = (min(_size(use.output), TOOL_LIMIT) + tokens(use.error or "") for use in each.uses)
    return tokens(each.text) + _size(each.thinking) + sum(calls) + sum(results) + PER_MESSAGE * (1 + 2 * len(each.uses))


def _size(text: Text | None) -> int:
    if text is None:
        return 0
    return tokens(text.inline or "") if text.ref is None else text.ref.size // CHARACTERS


def _between(turns: Sequence[Turn], begin: Place, until: Place | None) -> list[Turn]:
    """The turns from `begin` on; the last one without its answer where `until` is a round of it."""
    made = []
    for turn in turns:
        if turn.number < begin[0] or (until is not None and (turn.number, 0) >= until):
            continue
        first = begin[1] if turn.number == begin[0] else 0
        if until is not None and turn.number == until[0]:
            made.append(turn.model_copy(update={"rounds": turn.rounds[first : until[1]], "output": None}))
        else:
            made.append(turn.model_copy(update={"rounds": turn.rounds[first:]}) if first else turn)
    return made


def _rest(turns: Sequence[Turn], begin: Place) -> list[Turn]:
    """The turns from a place on, without what opens the first of them where it is in the midst of it."""
    made = _between(turns, begin, None)
    if made and made[0].number == begin[0] and begin[1]:
        made[0] = made[0].model_copy(update={"told": ""})
    return made
