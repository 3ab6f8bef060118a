"""The figures of a chaos run: what is lost, and how long a recovery took."""

from tests.chaos import report
from tests.chaos.controller import Kill
from tests.chaos.fault_points import FAULT_POINTS, KINDS, PARTITION_POINTS, POINTED, SERVER_POINTS, points_of
from tests.chaos.robots import TALKER, TARGETS
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.witness import Witness


def a_scoreboard(*leads: str) -> Scoreboard:
    scoreboard = Scoreboard()
    for lead in leads:
        scoreboard.posted(lead, TALKER)
        scoreboard.accepted(lead, f"trigger of {lead}", f"execution of {lead}")
    return scoreboard


def reached(witness: Witness, lead: str, *, but: str = "") -> None:
    for target in TARGETS - {but}:
        witness.delivered(lead, target, f"{lead} {target}")


def test_an_execution_that_never_ends_is_lost() -> None:
    scoreboard, witness = a_scoreboard("a", "b"), Witness()
    scoreboard.ended("execution of a", "completed", "")
    reached(witness, "a")
    found = report.figures(scoreboard, witness, [])
    assert (found["accepted"], found["ended"], found["lost"]) == (2, 1, 1)


def test_a_completed_execution_with_an_unreached_target_is_lost() -> None:
    scoreboard, witness = a_scoreboard("a"), Witness()
    scoreboard.ended("execution of a", "completed", "")
    reached(witness, "a", but="mail")
    assert report.figures(scoreboard, witness, [])["lost"] == 1


def test_an_execution_that_failed_has_ended_and_delivers_nothing() -> None:
    scoreboard = a_scoreboard("a")
    scoreboard.ended("execution of a", "failed", "outcome unknown")
    assert report.figures(scoreboard, Witness(), [])["lost"] == 0


def test_an_execution_that_asks_a_person_what_became_of_a_call_has_to_end_once_it_is_answered() -> None:
    scoreboard, witness = a_scoreboard("a"), Witness()
    scoreboard.asked("execution of a", "The outcome of ledger.bill is unknown")
    assert report.figures(scoreboard, witness, [])["lost"] == 1
    scoreboard.ended("execution of a", "completed", "")
    assert report.figures(scoreboard, witness, [])["lost"] == 1  # nothing is delivered yet
    reached(witness, "a")
    assert report.figures(scoreboard, witness, [])["lost"] == 0
    found = [*report.findings(scoreboard, witness, rejected=[], buried=[])]
    assert found == [
        "executions: 1 completed",
        "  1 asked a person, as they must: The outcome of ledger.bill is unknown",
    ]


def test_an_execution_may_end_before_its_acceptance_is_received() -> None:
    scoreboard = Scoreboard()
    scoreboard.posted("a", TALKER)
    scoreboard.ended("execution of a", "completed", "")
    assert scoreboard.counts()["ended"] == 0
    scoreboard.accepted("a", "trigger of a", "execution of a")
    assert scoreboard.counts()["ended"] == 1


def test_a_webhook_that_became_two_executions_is_doubled() -> None:
    scoreboard = a_scoreboard("a")
    scoreboard.accepted("a", "trigger of a", "another execution")
    assert report.figures(scoreboard, Witness(), [])["doubled_deliveries"] == 1


def test_a_recovery_ends_with_the_last_execution_that_was_hit() -> None:
    scoreboard = a_scoreboard("a", "b")
    for lead in ("a", "b"):
        scoreboard.ended(f"execution of {lead}", "completed", "")
    ends = [scoreboard.entries[lead].ended_at or 0.0 for lead in ("a", "b")]
    kill = Kill(FAULT_POINTS[0], min(ends) - 5, ("a", "b"))
    assert report.recovery(kill, scoreboard) == max(ends) - kill.at


def test_without_an_end_there_is_no_recovery() -> None:
    scoreboard = a_scoreboard("a")
    assert report.recovery(Kill(FAULT_POINTS[0], 0.0, ("a",)), scoreboard) is None
    assert report.recovery(Kill(FAULT_POINTS[0], 0.0, ()), scoreboard) is None


def test_partitions_are_counted_beside_kills_and_have_recoveries_of_their_own() -> None:
    scoreboard = a_scoreboard("a")
    scoreboard.ended("execution of a", "completed", "")
    at = scoreboard.entries["a"].ended_at or 0.0
    kills = [Kill(FAULT_POINTS[0], at - 5, ("a",)), *(Kill(point, at - 2, ("a",)) for point in PARTITION_POINTS[:2])]
    found = report.figures(scoreboard, Witness(), kills)
    assert (found["kills"], found["recovery_p50_s"]) == (1, 5)
    assert (found["partitions"], found["partition_recovery_max_s"]) == (2, 2)


def test_every_kind_has_its_points_and_a_service_without_database_is_not_cut_off_from_one() -> None:
    assert points_of({"kills"}) == FAULT_POINTS
    assert points_of(KINDS) == FAULT_POINTS + PARTITION_POINTS + SERVER_POINTS
    assert all(sum(point.times for point in points_of({kind})) >= 3 for kind in POINTED)
    assert [point.step for point in PARTITION_POINTS if point.victim == "validator"] == ["cut off from NATS"]
