"""The twenty plain requests, each with the check of its answer, which was written before any answer was seen."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ABOUT_BIGCORP = (
    "BigCorp makes valves in Lyon. Last year it opened a second factory in Porto, hired 120 people and grew its "
    "sales by a fifth. Its CTO, Ana Reis, looks for a partner who connects the machines of both factories."
)
INVOICE = (
    "Invoice 4711 of 3 March: 4 valves at 25 euros each, shipping 20 euros, total 120 euros. Contact: ana@bigcorp.com"
)
Check = Callable[[str], bool]


@dataclass(frozen=True)
class Request:
    name: str
    words: str
    right: Check


def holds(*patterns: str) -> Check:
    """Every pattern is somewhere in the text, whatever the case."""
    return lambda text: all(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def without(pattern: str, check: Check) -> Check:
    return lambda text: check(text) and not re.search(pattern, text, re.IGNORECASE)


def at_most(words: int, check: Check) -> Check:
    return lambda text: len(text.split()) <= words and check(text)


def questions(count: int) -> Check:
    return lambda text: text.count("?") >= count


def as_json(**wanted: str) -> Check:
    """An object in the text has these fields, with values that hold these words."""

    def right(text: str) -> bool:
        for found in re.findall(r"\{[^{}]*\}", text):
            try:
                given: dict[str, Any] = json.loads(found)
            except ValueError:
                continue
            if all(value.lower() in str(given.get(name, "")).lower() for name, value in wanted.items()):
                return True
        return False

    return right


REQUESTS = (
    Request("Spanish", "Translate into Spanish: Good morning, my friend.", holds(r"buenos d[ií]as", "amigo")),
    Request("German", "Translate into German: The meeting is on Tuesday.", holds("dienstag")),
    Request("French", "Translate into French: Thank you for your order.", holds("merci", "commande")),
    Request(
        "one sentence",
        f"Summarise in one sentence: {ABOUT_BIGCORP}",
        at_most(60, holds("bigcorp", "factor|valve|partner")),
    ),
    Request("who", f"Who looks for a partner? Answer with the name alone. {ABOUT_BIGCORP}", holds("ana reis")),
    Request("fruits", "List three fruits.", lambda text: len(re.findall(r"[a-z]{3,}", text, re.IGNORECASE)) >= 3),
    Request(
        "days",
        "List the seven days of the week.",
        holds("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ),
    Request("questions", "List three questions to ask a new customer.", questions(3)),
    Request("polite", "Rewrite politely: Send me the report now.", holds("please|could you|would you", "report")),
    Request("past", "Rewrite in the past tense: She sells books in Porto.", holds("she sold books")),
    Request("capitals", "Rewrite in capital letters: quarterly report", lambda text: "QUARTERLY REPORT" in text),
    Request(
        "person as JSON",
        "Extract name and company as a JSON object: John Smith of BigCorp asked for a demo.",
        as_json(name="John Smith", company="BigCorp"),
    ),
    Request("mail as JSON", f"Extract the email address as a JSON object: {INVOICE}", as_json(email="ana@bigcorp.com")),
    Request(
        "total as JSON", f'Extract the total as a JSON object with the field "total": {INVOICE}', as_json(total="120")
    ),
    Request("product", "Compute 127 * 46.", holds(r"5[,. ]?842")),
    Request("sum", "Compute 1234 + 4567.", holds(r"5[,. ]?801")),
    Request("percent", "What is 15 percent of 200?", holds(r"\b30\b")),
    Request("capital", "What is the capital of France?", holds("paris")),
    Request("opposite", "What is the opposite of increase? Answer with one word.", at_most(12, holds("decrease"))),
    Request(
        "sentiment",
        "Is this positive or negative? Answer with one word: I love this product.",
        without("negative", holds("positive")),
    ),
)
