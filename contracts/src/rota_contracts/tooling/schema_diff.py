"""Differences between two versions of a JSON Schema: breaking ones, and those that need the readers first."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Schema = dict[str, Any]
Refs = frozenset[tuple[str, str]]

LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
CONDITIONS = ("pattern", "format", "multipleOf", "uniqueItems")
STRUCTURE = (
    *("$ref", "$defs", "anyOf", "oneOf", "type", "const", "enum"),
    *("properties", "required", "additionalProperties", "propertyNames", "items"),
)
ANNOTATIONS = ("$schema", "$id", "title", "description", "default", "examples", "deprecated")
UNDERSTOOD = frozenset((*LOWER_BOUNDS, *UPPER_BOUNDS, *CONDITIONS, *STRUCTURE, *ANNOTATIONS))
"""A change of any other keyword counts as breaking, as its effect is unknown."""

ANY = "any value"
ABSENT = "absent"


@dataclass(frozen=True)
class Finding:
    """A difference. `breaking` is refused; otherwise old readers may reject new messages, so the readers go first."""

    schema: str
    path: str
    what: str
    was: Any
    now: Any
    breaking: bool

    def __str__(self) -> str:
        return f"{self.schema} {self.path}: {self.what}: was {_shown(self.was)}, is {_shown(self.now)}"


@dataclass(frozen=True)
class _Position:
    """The position of a comparison; `refs` are the references followed so far, so that a recursive schema ends."""

    schema: str
    path: str = "$"
    refs: Refs = frozenset()

    def __truediv__(self, step: str) -> "_Position":
        return replace(self, path=self.path + step)

    def breaks(self, what: str, was: Any, now: Any) -> Finding:
        return Finding(self.schema, self.path, what, was, now, breaking=True)

    def widens(self, what: str, was: Any, now: Any) -> Finding:
        return Finding(self.schema, self.path, what, was, now, breaking=False)


@dataclass(frozen=True)
class _Form:
    """One form that a value may take: a schema without references and choices. `ref` is the reference it came by."""

    schema: Schema
    ref: str = ""

    @property
    def type(self) -> str:
        if "type" in self.schema:
            return str(self.schema["type"])
        values = _values(self.schema)
        return _json_type(values[0]) if values else ANY

    @property
    def name(self) -> str:
        return self.ref.rpartition("/")[2] or self.type


def differences(schema: str, old: Schema, new: Schema) -> list[Finding]:
    """All findings between two versions of the schema of this name, in the order of their paths."""
    found = _Comparison(old, new).compare(old, new, _Position(schema))
    # Two old forms may have the same new match, and so the same findings.
    distinct = {str(finding): finding for finding in found}
    return sorted(distinct.values(), key=lambda finding: (finding.path, finding.what))


class _Comparison:
    """Of two documents; each resolves its own references."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old, new

    def compare(self, old: Any, new: Any, at: _Position) -> list[Finding]:
        """Every old form must find a new one that takes all its values; the one with the fewest breaks is its match."""
        olds, news = list(_forms(old, self._old)), list(_forms(new, self._new))
        if len(olds) == len(news) == 1:
            return self._compare_forms(olds[0], news[0], at)
        found, matched = [], set()
        names = [form.name for form in olds], [form.name for form in news]
        for form in olds:
            attempts = [self._compare_forms(form, candidate, at) for candidate in news]
            best = min(range(len(news)), key=lambda index: _severity(attempts[index]))
            matched.add(best)
            found += attempts[best] if _fits(form, news[best]) else [at.breaks("type narrowed", *names)]
        if len(matched) < len(news):
            found.append(at.widens("type widened", *names))
        return found

    def _compare_forms(self, old: _Form, new: _Form, at: _Position) -> list[Finding]:
        pair = (old.ref, new.ref)
        if all(pair) and pair in at.refs:
            return []
        at = replace(at, refs=at.refs | {pair} if all(pair) else at.refs)
        if not _fits(old, new):
            return [at.breaks("type narrowed" if old.type == ANY else "type changed", old.type, new.type)]
        widened = [at.widens("type widened", old.type, new.type)] if old.type != new.type else []
        if new.type == ANY:
            return widened
        return [
            *widened,
            *_compare_values(old.schema, new.schema, at),
            *_compare_bounds(old.schema, new.schema, at),
            *_compare_conditions(old.schema, new.schema, at),
            *self._compare_properties(old.schema, new.schema, at),
            *self._compare_additional(old.schema, new.schema, at),
            *self.compare(old.schema.get("items", {}), new.schema.get("items", {}), at / "[]"),
            *self.compare(old.schema.get("propertyNames", {}), new.schema.get("propertyNames", {}), at / ".<name>"),
        ]

    def _compare_properties(self, old: Schema, new: Schema, at: _Position) -> Iterator[Finding]:
        olds, news = old.get("properties", {}), new.get("properties", {})
        for name, was in olds.items():
            here = at / f".{name}"
            if name in news:
                yield from self.compare(was, news[name], here)
            else:
                yield here.breaks("property removed", _forms_of(was, self._old), ABSENT)
        before, after = set(old.get("required", ())), set(new.get("required", ()))
        for name in after - before:
            what = "property made required" if name in olds else "new property is required"
            yield (at / f".{name}").breaks(what, "optional" if name in olds else ABSENT, "required")
        for name in (before - after) & set(news):
            yield (at / f".{name}").widens("property made optional", "required", "optional")

    def _compare_additional(self, old: Schema, new: Schema, at: _Position) -> list[Finding]:
        was, now, here = old.get("additionalProperties", True), new.get("additionalProperties", True), at / ".*"
        if was is False:
            return [] if now is False else [here.widens("unknown properties allowed", "forbidden", "allowed")]
        if now is False:
            return [here.breaks("unknown properties forbidden", "allowed", "forbidden")]
        return self.compare(was, now, here)


def _forms(schema: Any, root: Schema, ref: str = "") -> Iterator[_Form]:
    schema = {} if schema is True else schema
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        yield from _forms(_resolve(schema["$ref"], root) | rest, root, schema["$ref"])
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        for choice in choices:
            required = [*rest.get("required", ()), *choice.get("required", ())]
            yield from _forms(rest | choice | ({"required": required} if required else {}), root)
    elif isinstance(schema.get("type"), list):
        for kind in schema["type"]:
            yield _Form(schema | {"type": kind}, ref)
    else:
        yield _Form(schema, ref)


def _forms_of(schema: Any, root: Schema) -> str:
    return " or ".join(form.name for form in _forms(schema, root))


def _resolve(ref: str, root: Schema) -> Schema:
    """Of the form `#/$defs/Name`: each of our schemas is complete in itself."""
    found: Any = root
    for step in ref.removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def _fits(old: _Form, new: _Form) -> bool:
    return new.type in (ANY, old.type) or (old.type, new.type) == ("integer", "number")


def _severity(findings: list[Finding]) -> tuple[int, int]:
    return sum(finding.breaking for finding in findings), len(findings)


def _compare_values(old: Schema, new: Schema, at: _Position) -> Iterator[Finding]:
    was, now = _values(old), _values(new)
    if was is None and now is not None:
        yield at.breaks("limited to fixed values", ANY, now)
    elif was is not None and now is None:
        yield at.widens("no longer limited to fixed values", was, ANY)
    elif was and now and "const" in old and "const" in new and was != now:
        yield at.breaks("const changed", was[0], now[0])
    elif was is not None and now is not None:
        if removed := [value for value in was if value not in now]:
            yield at.breaks(f"enum value removed ({_shown(removed)})", was, now)
        if added := [value for value in now if value not in was]:
            yield at.widens(f"enum value added ({_shown(added)})", was, now)


def _compare_bounds(old: Schema, new: Schema, at: _Position) -> Iterator[Finding]:
    for key in (*LOWER_BOUNDS, *UPPER_BOUNDS):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        up = 1 if key in LOWER_BOUNDS else -1
        if now is not None and (was is None or up * now > up * was):
            yield at.breaks(f"{key} tightened", ABSENT if was is None else was, now)
        else:
            yield at.widens(f"{key} loosened", was, ABSENT if now is None else now)


def _compare_conditions(old: Schema, new: Schema, at: _Position) -> Iterator[Finding]:
    for key in sorted({*old, *new} - (UNDERSTOOD - set(CONDITIONS))):
        was, now = old.get(key, ABSENT), new.get(key, ABSENT)
        if was == now:
            continue
        if key in CONDITIONS and now in (ABSENT, False):
            yield at.widens(f"{key} loosened", was, now)
        else:
            yield at.breaks(f"{key} changed", was, now)


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if "enum" in schema else None


def _json_type(value: Any) -> str:
    names: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "object" if isinstance(value, dict) else "array")


def _shown(value: Any) -> str:
    return value if value in (ANY, ABSENT) else json.dumps(value, ensure_ascii=False)
