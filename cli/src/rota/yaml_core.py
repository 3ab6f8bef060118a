"""YAML with the scalars of YAML 1.2's core schema: `on`, `no`, `09:00` and `2026-03-01` are texts."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"


class CoreLoader(yaml.SafeLoader):
    """PyYAML's own resolvers are those of YAML 1.1, to which `on` is true and 09:30 the number 570."""

    yaml_implicit_resolvers: dict[str, Any] = {}


class CoreDumper(yaml.SafeDumper):
    """Quotes what a reader of either YAML would take for no text."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """With the items of a list deeper than its name."""
        super().increase_indent(flow, False)


for _name, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
):
    for _kind in (CoreLoader, CoreDumper):
        _kind.add_implicit_resolver(f"{_TAG}{_name}", re.compile(f"(?:{_form})$"), _first)


def _whole_number(loader: CoreLoader, node: yaml.ScalarNode) -> int:
    """Leading zeros are decimal; `0o17` is octal."""
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _text(dumper: CoreDumper, text: str) -> yaml.ScalarNode:
    """Several lines are a block."""
    return dumper.represent_scalar(f"{_TAG}str", text, style="|" if "\n" in text else None)


CoreLoader.add_constructor(f"{_TAG}int", _whole_number)
CoreDumper.add_representer(str, _text)


def load_all(text: str) -> Iterator[Any]:
    """The documents of a YAML text. Raises yaml.YAMLError."""
    return yaml.load_all(text, Loader=CoreLoader)


def dump(value: Any) -> str:
    """One document, its fields in their order, without a newline at its end."""
    text: str = yaml.dump(value, Dumper=CoreDumper, sort_keys=False, allow_unicode=True, width=120)
    return text.rstrip("\n")
