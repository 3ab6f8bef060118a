"""The figures of a chaos run: what is lost, and how long a recovery took."""

from tests.chaos import report
from tests.chaos.controller import Kill
from tests.chaos.fault_points import KINDS
from tests.chaos.robots import TALKER, TARGETS
from tests.chaos.scoreboard import Book
from tests.chaos.witness import Witness


def a_book(*leads: str) -> Book:
    book = Book()
    for lead in leads:
        book.posted(lead, TALKER)
        book.accepted(lead, f"trigger of {lead}", f"execution of {lead}")
    return book


def reached(witness: Witness, lead: str, *, but: str = "") -> None:
    for target in TARGETS - {but}:
        witness.delivered(lead, target, f"{lead} {target}")


def test_an_execution_that_never_ends_is_lost() -> None:
    book, witness = a_book("a", "b"), Witness()
    book.ended("execution of a", "completed", "")
    reached(witness, "a")
    found = report.figures(book, witness, [])
    assert (found["accepted"], found["ended"], found["lost"]) == (2, 1, 1)


def test_a_completed_execution_whose_result_reached_not_everybody_is_lost() -> None:
    book, witness = a_book("a"), Witness()
    book.ended("execution of a", "completed", "")
    reached(witness, "a", but="mail")
    assert report.figures(book, witness, [])["lost"] == 1


def test_an_execution_that_failed_has_ended_and_delivers_nothing() -> None:
    book = a_book("a")
    book.ended("execution of a", "failed", "outcome unknown")
    assert report.figures(book, Witness(), [])["lost"] == 0


def test_an_execution_may_end_before_its_sender_knows_that_it_was_accepted() -> None:
    book = Book()
    book.posted("a", TALKER)
    book.ended("execution of a", "completed", "")
    assert book.counts()["ended"] == 0
    book.accepted("a", "trigger of a", "execution of a")
    assert book.counts()["ended"] == 1


def test_a_webhook_that_became_two_executions_is_doubled() -> None:
    book = a_book("a")
    book.accepted("a", "trigger of a", "another execution")
    assert report.figures(book, Witness(), [])["doubled_deliveries"] == 1


def test_a_recovery_ends_with_the_last_execution_that_was_hit() -> None:
    book = a_book("a", "b")
    for lead in ("a", "b"):
        book.ended(f"execution of {lead}", "completed", "")
    ends = [book.entries[lead].ended_at or 0.0 for lead in ("a", "b")]
    kill = Kill(KINDS[0], min(ends) - 5, ("a", "b"))
    assert report.recovery(kill, book) == max(ends) - kill.at


def test_without_an_end_there_is_no_recovery() -> None:
    book = a_book("a")
    assert report.recovery(Kill(KINDS[0], 0.0, ("a",)), book) is None
    assert report.recovery(Kill(KINDS[0], 0.0, ()), book) is None
