"""The parsing of agents' answers."""

import json
from itertools import product

import pytest

from executor.domain.planning import parsing
from executor.domain.planning.parsing import UnusableAnswer

FORMS = ["{}", "```json\n{}\n```", "Here you are:\n```\n{}\n```\nAnything else?", "My answer is {} and that is final."]
"""Where a model puts its JSON (CL-22)."""


def wrapped(form: str, value: object) -> str:
    return form.replace("{}", json.dumps(value))


def test_goals_are_found_in_whatever_is_around_them(subtests: pytest.Subtests) -> None:  # EX-13 CL-22
    for form in FORMS:
        with subtests.test(form=form):
            goals = parsing.goals(wrapped(form, {"content": "## Goals\n1. Sell"}))
            assert (goals.content, goals.delivery) == ("## Goals\n1. Sell", None)


def test_goals_may_be_markdown_alone() -> None:  # EX-13
    assert parsing.goals("\n## Goals\n1. Sell [a lot]\n").content == "## Goals\n1. Sell [a lot]"


def test_a_wish_for_the_delivery_is_kept() -> None:  # EX-14
    wish = {"type": "email", "recipients": ["a@acme.example"], "format": "html"}
    goals = parsing.goals(json.dumps({"content": "Sell", "delivery": wish}))
    assert goals.delivery is not None
    assert (goals.delivery.type, goals.delivery.recipients, goals.delivery.format) == (
        "email",
        ["a@acme.example"],
        "html",
    )


def test_a_wish_that_can_not_be_read_is_none(subtests: pytest.Subtests) -> None:  # DEC-32
    for wish in ["by mail", {"type": "pigeon"}, {"format": "pdf"}, 7, None]:
        with subtests.test(wish=wish):
            assert parsing.goals(json.dumps({"content": "Sell", "delivery": wish})).delivery is None


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_goals_are_refused(text: str) -> None:
    with pytest.raises(UnusableAnswer, match="expected the goals as markdown, got an empty answer"):
        parsing.goals(text)


def test_a_report_may_be_wrapped_in_json(subtests: pytest.Subtests) -> None:  # EX-10
    for form in FORMS:
        with subtests.test(form=form):
            assert parsing.report(wrapped(form, {"content": "## Summary\nquiet"})) == "## Summary\nquiet"


def test_a_report_is_markdown_with_whatever_it_cites() -> None:  # EX-10
    text = '## Summary\n```json\n{"sales": 15}\n```\n## Risks\nnone known'
    assert parsing.report(f"\n{text}\n") == text


def test_an_empty_report_is_refused() -> None:
    with pytest.raises(UnusableAnswer, match="expected the report as markdown"):
        parsing.report(json.dumps({"content": " "}))


DRAFT = {"summary": " All done. ", "body": "# Report\n\n- one"}


def test_a_draft_is_found_in_whatever_is_around_it(subtests: pytest.Subtests) -> None:  # DC-03 CL-22
    for value, form in product([DRAFT, {"content": DRAFT}], FORMS):
        with subtests.test(value=value, form=form):
            draft = parsing.draft(wrapped(form, value))
            assert (draft.summary, draft.body, draft.attachments) == ("All done.", "# Report\n\n- one", [])


def test_a_draft_may_have_attachments() -> None:  # DC-04
    files = [
        {"title": "Heartbeat.pdf", "file": "__yao.attachment://abc"},
        {"title": "L.xlsx", "file": "__rota.files://1"},
    ]
    draft = parsing.draft(json.dumps(DRAFT | {"attachments": files}))
    assert [each.file for each in draft.attachments] == ["__yao.attachment://abc", "__rota.files://1"]
    assert parsing.draft(json.dumps(DRAFT | {"attachments": None})).attachments == []


def test_at_the_last_try_attachments_that_name_no_file_are_left_out_with_a_note() -> None:  # DC-04
    listed = ["policy.md", {"title": "P", "file": "policy.md"}, {"title": "R", "file": "__rota.attachment://12345678"}]
    draft = parsing.draft(json.dumps(DRAFT | {"attachments": listed}), last=True)
    assert ([each.title for each in draft.attachments], draft.body) == (["R"], DRAFT["body"])
    assert [note.partition(": ")[2].rpartition(": ")[0] for note in draft.notes] == [
        "an attachment is left out, it names no file of the team",
        "an attachment is left out, it names no file of the team: {'title': 'P', 'file'",
    ]
    assert parsing.draft(json.dumps(DRAFT | {"attachments": "policy.md"}), last=True).attachments == []


def test_a_draft_that_can_not_be_used_says_what_was_expected(subtests: pytest.Subtests) -> None:
    cases = [
        ("All done.", "expected JSON like"),
        ([DRAFT["body"]], "expected JSON like"),
        ({"body": "# R"}, "expected content.summary"),
        ({"summary": "  ", "body": "# R"}, "expected content.summary"),
        ({"summary": 7, "body": "# R"}, "expected content.summary"),
        ({"summary": "S"}, "expected content.body"),
        ({"summary": "S", "body": {"inline": "x"}}, "expected content.body"),
        (DRAFT | {"attachments": "report.pdf"}, "expected attachments as a list"),
        (DRAFT | {"attachments": 7}, "expected attachments as a list"),
        (DRAFT | {"attachments": [{"title": "R", "file": "/etc/passwd"}]}, "expected attachments as a list"),
    ]
    for value, reason in cases:
        with subtests.test(value=value, reason=reason), pytest.raises(UnusableAnswer, match=reason):
            parsing.draft(json.dumps(value))
