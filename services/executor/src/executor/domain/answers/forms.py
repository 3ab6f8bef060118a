"""Answers in a form: JSON with small faults, or YAML, is put right; an example that was copied is found."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from rota_common.json_text import extract_json, repaired_json
from rota_contracts.model import Json

MISSING: Any = object()
YAML_LIMIT = 50_000
"""Characters of the longest text that is read as YAML."""

YAML_FENCE = re.compile(r"```ya?ml[ \t]*\r?\n(.*?)```", re.DOTALL | re.IGNORECASE)
YAML_BEGINS = re.compile(r"\s*[a-z_]{1,40}:(?:[ \t]|\r?\n)")
EXAMPLE = re.compile(r'"(\w{1,64})"\s*:\s*(\[?)\s*"((?:[^"\\]|\\.)*)"')
TRIPLED = re.compile(r'"""(.*?)"""', re.DOTALL)
"""A text with line breaks, as Python has it."""
WORD = re.compile(r"[^\W\d_]{2,}")


class _Loader(yaml.SafeLoader):
    """Plain YAML: no aliases, which can grow without bound, and no instants, which JSON doesn't have."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("expected no aliases")
        return super().compose_node(parent, index)


def in_form(text: str, *, tripled: bool = True) -> str:
    """The answer with its JSON readable: as it is, repaired, or of YAML. One without any stays text. `tripled`: a text
    in its JSON may stand between triple quotes."""
    found = extract_json(text, MISSING)
    if isinstance(found, dict | list):
        return text
    repaired = repaired_json(TRIPLED.sub(lambda each: json.dumps(each[1].strip("\n")), text) if tripled else text)
    if repaired is None and found is MISSING:
        repaired = from_yaml(text)
    return text if repaired is None else json.dumps(repaired, ensure_ascii=False)


def from_yaml(text: str) -> Json:
    """The mapping that a fence marked as YAML, or all of the text, holds; None if there is none."""
    fence = YAML_FENCE.search(text)
    body = fence[1] if fence else text
    if len(body) > YAML_LIMIT or not YAML_BEGINS.match(body):
        return None
    try:
        found = yaml.load(body, Loader=_Loader)  # noqa: S506  # a SafeLoader
        plain: Json = json.loads(json.dumps(found, allow_nan=False))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None
    structured = isinstance(plain, dict) and (len(plain) > 1 or isinstance(next(iter(plain.values())), dict | list))
    return plain if structured else None


def examples(prompt: str) -> set[tuple[str, str]]:
    """Fields and values of the JSON in a prompt that stand for something: those of words, or with "…" for the rest.

    The names of fields and the words to choose from are no examples."""
    found = {(key, plain(value)) for key, _, value in EXAMPLE.findall(prompt)}
    return {(key, value) for key, value in found if _stands_for_something(value)}


def echoes(text: str, prompt: str) -> list[tuple[str, str]]:
    """The fields of an answer that have the value of the prompt's own example; all of the text is the field ""."""
    known = examples(prompt)
    if not known:
        return []
    said = extract_json(in_form(text))
    fields = {(key, plain(value)) for key, value in _fields(said)}
    whole = [("", value) for _, value in known if plain(text) == value]
    return sorted({*(fields & known), *whole})


def without_echoes(text: str, found: Sequence[tuple[str, str]]) -> str:
    """The answer without the fields that were copied; as it is if there are none."""
    if not found:
        return text
    said = extract_json(in_form(text), MISSING)
    return text if said is MISSING else json.dumps(_without(said, set(found)), ensure_ascii=False)


def echo_problem(found: Sequence[tuple[str, str]]) -> str:
    """The reason to ask again."""
    listed = "; ".join(f'"{key}": "{value[:200]}"' if key else f'"{value[:200]}"' for key, value in found[:5])
    return (
        "expected words of your own, got the example that only shows the form: "
        f"{listed}. Put in what is true of this work, or leave the field out"
    )


def _fields(value: Json, key: str = "") -> Iterator[tuple[str, str]]:
    """Texts by the name of their field, those in a list under the list's."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for each in value:
            yield from _fields(each, key)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _fields(each, name)


def _without(value: Any, found: set[tuple[str, str]], key: str = "") -> Any:
    if isinstance(value, list):
        return [_without(each, found, key) for each in value if not _is(each, key, found)]
    if isinstance(value, dict):
        return {name: _without(each, found, name) for name, each in value.items() if not _is(each, name, found)}
    return value


def _is(value: Any, key: str, found: set[tuple[str, str]]) -> bool:
    return isinstance(value, str) and (key, plain(value)) in found


def plain(text: str) -> str:
    """For comparing: one line, in small letters, without the signs of JSON's texts."""
    return " ".join(text.replace("\\n", "\n").replace('\\"', '"').split()).casefold()


def _stands_for_something(value: str) -> bool:
    return sum(WORD.search(word) is not None for word in value.split()) > 1 or "…" in value or "..." in value
