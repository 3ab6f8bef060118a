"""Settings of sources as owners write them, checked field by field: each problem shows a correct value."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rota_contracts.secret_refs import secret_name
from rota_contracts.sources import Scheme
from trigger_gateway.problems import FieldProblem, Invalid, plain
from trigger_gateway.sources.schemes import key_of
from trigger_gateway.sources.source import DatabaseSettings, WebhookSettings

OWN_PREFIX = "ROTA_"
"""Of the names of Rota's own settings, of whichever service: no secret of a team has such a name."""

SECRET_MIN, SECRET_MAX = 8, 1000

SECRET_FIELDS = ("secret", "secrets", "signing_secret", "new_secret", "forget_old_secret")
OWN_SCHEMES = (Scheme.STANDARD, Scheme.HMAC, Scheme.BEARER)
ONLY_OF: Mapping[str, tuple[Scheme, ...]] = {
    "header": (Scheme.HMAC, Scheme.BEARER),
    "id_field": (Scheme.HMAC, Scheme.BEARER),
    "signing_secret": (Scheme.BEARER,),
    "event_type_field": OWN_SCHEMES,
    "robot": OWN_SCHEMES,
}
"""The fields that aren't for every scheme."""

FORMS: Mapping[Scheme, str] = {
    Scheme.STANDARD: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    Scheme.GITHUB: "what you enter as Secret in GitHub's settings of the webhook",
    Scheme.STRIPE: "the endpoint's signing secret from Stripe, whsec_…",
    Scheme.SLACK: "the app's Signing Secret from Slack",
    Scheme.HMAC: "the text that both sides know",
    Scheme.BEARER: "letters, digits and -._~+/= without spaces",
}

M = TypeVar("M", bound=BaseModel)


def webhook_settings(given: Mapping[str, Any]) -> WebhookSettings:
    """The settings of a webhook, its secrets as they are stored; raises Invalid."""
    scheme = given.get("scheme", Scheme.STANDARD)
    wrong = [
        FieldProblem(field, f"only sources with the scheme {' or '.join(schemes)} have it, this one's is {scheme}")
        for field, schemes in ONLY_OF.items()
        if given.get(field) is not None and scheme not in schemes
    ]
    return _settings(WebhookSettings, given, wrong, of="a database")


def database_settings(given: Mapping[str, Any], *, own_databases: frozenset[str]) -> DatabaseSettings:
    """The settings of a database; raises Invalid. `own_databases` are Rota's, which no team reads."""
    named = [field for field in ("url", "database", "collection") if given.get(field) is None]
    examples = {"url": "$SECRET.CRM_MONGO_URL", "database": "crm", "collection": "leads"}
    wrong = [FieldProblem(field, f"a database needs it: for example {examples[field]}") for field in named]
    url = given.get("url")
    if isinstance(url, str) and (problem := reference_problem(url, examples["url"])):
        wrong.append(FieldProblem("url", problem))
    if (database := given.get("database")) and is_own_database(str(database), own_databases):
        wrong.append(FieldProblem("database", f"expected a database of your own, not {database}: it is one of Rota's"))
    return _settings(DatabaseSettings, given, wrong, of="a webhook")


def is_own_database(name: str, own_databases: frozenset[str]) -> bool:
    """MongoDB takes names that differ in their case alone for the same."""
    return name.lower() in own_databases


def reference_problem(text: str, example: str) -> str | None:
    """What is wrong with a reference to a secret of the team, if anything is."""
    name = secret_name(text)
    if name is None:
        return f"expected a reference to a secret of the team: for example {example}"
    if name.upper().startswith(OWN_PREFIX):
        return f"expected a secret of your own, for example {example}: this name is of a setting of Rota"
    return None


def secret_problem(scheme: Scheme, text: str) -> str | None:
    """What is wrong with a secret given as text, if anything is. Never shows it."""
    expected = f"expected a reference like $SECRET.{scheme.upper()}_SECRET, or the secret: {FORMS[scheme]}"
    if not SECRET_MIN <= len(text) <= SECRET_MAX:
        return f"{expected} ({SECRET_MIN} to {SECRET_MAX} characters)"
    sendable = scheme is not Scheme.BEARER or all("!" <= character <= "~" for character in text)
    try:
        key_of(scheme, text)
    except ValueError:
        return expected
    return None if sendable and text == text.strip() and not text.startswith("$") else expected


def refused(wrong: list[FieldProblem]) -> Invalid:
    return Invalid("invalid_source", "the source is not valid", fields=wrong)


def _settings(model: type[M], given: Mapping[str, Any], wrong: list[FieldProblem], *, of: str) -> M:
    """`of` is what has the fields that this model hasn't."""
    given = {field: value for field, value in given.items() if value is not None}
    unknown = [
        FieldProblem(name, f"only {of} has it: leave it out") for name in given if name not in model.model_fields
    ]
    if wrong or unknown:
        raise refused([*wrong, *unknown])
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise refused(_problems(error, plain)) from error


def _problems(error: ValidationError, say: Callable[[str], str]) -> list[FieldProblem]:
    return [FieldProblem(".".join(str(part) for part in e["loc"]), say(e["msg"])) for e in error.errors()]
