"""The forms of answers: fields with their types and limits, in words that can't be taken for an answer."""

from collections.abc import Mapping
from typing import Any

from rota_contracts.json_values import compact

JSON = "Your answer is one JSON object and nothing else: no text around it, no fence. Its fields:"

NOTHING = "- nothing_to_do: string, one sentence. In place of content, if nothing is worth doing now: the reason."

GOALS = "- content: string, 1 to 4000 characters of markdown. The goals as a numbered list."

TASKS = """- tasks: array of 1 to 100 objects, in the order of the work. The fields of each object:
  - description: string, required. The work, with all that it needs to know, in the words of the request or event.
  - executor_type: string, required. One of assistant, mcp, process.
  - executor_id: string, required. A name from the lists above, letter by letter.
  - goal_ref: string, optional. The number of the goal that it serves.
  - expected_output: string, optional. How to recognise a right result; it never asks for more than the request does.
  - args: array, for mcp and process alone. mcp: one object with the tool's arguments. process: its arguments.
  - validation_rules: array, optional, and best left out. Each a string (a sentence about the result) or an object with
    type (equals, contains, not_contains, regex: with value; json_path: with path and value; type: with value
    string, number, boolean, array, object or null). Only what every right result surely keeps.
- reason: string, one sentence. Only beside an empty array of tasks, if the goals need no work at all."""

RUN = "Your answer is the result itself, and nothing before or after it."

NO_HTML = "in markdown, without HTML"

DELIVERY = f"""- content: object, required. Its fields:
  - summary: string, required, 1 to 500 characters. The result in one or two sentences.
  - body: string, required. The whole report {NO_HTML}."""

ATTACHMENTS = """  - attachments: array of objects, optional. The fields of each: title (string); file (string,
    one of the names in <files>, letter by letter)."""

RESULT = """  - result: object, required, at most 16 kB. The result for programs, by the JSON Schema that follows. Its
    values are what was found, and never made up:"""

INSPIRATION = """Your answer is markdown with these six sections, in this order:
- `## Summary`: in two or three sentences, what matters now.
- `## Highlights`: what has changed or happened, each item marked [High], [Medium] or [Low].
- `## Opportunities`: what is worth doing now, and why now.
- `## Risks`: what went wrong or may go wrong, what is late.
- `## World News`: what is new outside, as far as you were told or have looked it up, each item with its source.
- `## Pending`: what is planned, waits for somebody, is paused or under way, so that nothing is begun twice.
Write "none known" where you know nothing."""

NEEDSEARCH = """- search: boolean, required. Whether something must be searched for.
- reason: string, one sentence, optional."""

KEYWORD = "- keywords: array of 1 to 8 strings, required, each of 1 to 5 words, the most telling ones first."

QUERYDSL = """- query: string, required, 1 to 500 characters. What to search for.
- collections: array of strings, optional. Names from <collections>, letter by letter: these alone are searched.
- limit: integer, 1 to 20, optional. The number of results; 5 without it.
- min_score: number, 0 to 1, optional. How well a result must fit at least; 0.4 without it."""

RERANK = "- order: array of integers, required. The numbers of the results that help, the best first, each once."


def form(kind: str, *, asked: bool = False, files: bool = False, result: Mapping[str, Any] | None = None) -> str:
    """The form of this kind's answer; empty where the question itself has it.

    `asked`: a person wants something, so that there is something to do. `files`: some can be attached. `result`: the
    JSON Schema of a result for programs.
    """
    match kind:
        case "inspiration":
            return INSPIRATION
        case "goals":
            return "\n".join([JSON, GOALS, *([] if asked else [NOTHING])])
        case "tasks":
            return f"{JSON}\n{TASKS}"
        case "run":
            return RUN
        case "delivery":
            own = [] if result is None else [RESULT, f"    {compact(result)}"]
            return "\n".join([JSON, DELIVERY, *([ATTACHMENTS] if files else []), *own])
        case other:
            return _of_search(other)


def _of_search(stage: str) -> str:
    """The form of a stage of a search; empty for any other kind."""
    stages = {"needsearch": NEEDSEARCH, "keyword": KEYWORD, "querydsl": QUERYDSL, "rerank": RERANK}
    return f"{JSON}\n{stages[stage]}" if stage in stages else ""
