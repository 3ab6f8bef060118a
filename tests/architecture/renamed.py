"""The table of the rule of words: each replaced name with the field's word for it, and the words that no text uses."""

import re
from dataclasses import dataclass

EXECUTOR = ("services/executor/", "tests/integration/executor/", "tests/conformance/test_executor")
GATEWAY = ("services/trigger-gateway/", "tests/integration/gateway/", "tests/conformance/test_gateway")
SCHEDULER = ("services/scheduler/", "tests/integration/scheduler/", "tests/conformance/test_scheduler")
DELIVERY = ("services/delivery-center/", "tests/integration/delivery/", "tests/conformance/test_delivery")
CHAOS = ("tests/chaos/", "tests/clock_year/")
TESTS = ("tests/", "services/", "cli/tests/", "contracts/tests/", "libs/common/tests/")
CONTRACTS = ("contracts/src/",)
CLI = ("cli/",)
COMMON = "libs/common/src/rota_common/"


@dataclass(frozen=True)
class Row:
    """`names` are replaced by `better` in the folders of `where`, or everywhere."""

    names: tuple[str, ...]
    better: str
    where: tuple[str, ...] = ()


def row(names: str, better: str, where: tuple[str, ...] = ()) -> Row:
    return Row(tuple(names.split()), better, where)


BANNED = {
    "whoever": "the caller, the client, a reader: name who it is",
    "nobody": "no one of a kind: no service, no client, none",
    "somebody": "a person, a client, an operator: name who it is",
    "told": "published, returned, shown, sent",
    "untold": "unpublished",
    "tells": "says, shows, returns, publishes",
    "telling": "saying, showing, publishing",
    "heed": "apply",
    "heeds": "applies",
    "heeded": "applied",
    "made known": "published, reported",
}
TELL = re.compile(
    r"(?<![A-Za-z])(?<!can )(?<!can't )(?<!cannot )(?<!could )tell(?![A-Za-z])(?! (?:\S+ ){1,4}(?:from|apart))"
)
"""The verb, unless it means to distinguish."""

NAMES = (
    row("GiveWord give_word", "SendSignal, send_signal"),
    row("Word", "Signal", EXECUTOR),
    row("hear", "apply_signals", EXECUTOR),
    row("trail took heard", "journal, record_outcome, record_signals", EXECUTOR),
    row("Entry", "JournalEntry", EXECUTOR),
    row("Drive", "RunWorker"),
    row("Perform Workshop", "StepRunner, Toolset"),
    row("Heard", "StepResult, Event", (*EXECUTOR, "libs/common/")),
    row("Hand Hands hands", "StepScope, ActiveRuns, active_runs"),
    row("Interrupted", "StepCancelled; StreamBroken"),
    row("AskLeave ask_leave", "CheckPermission, check_permission"),
    row("DecideLeave", "DecidePermission"),
    row("DeliveryLeave Leave", "DeliveryPermission, Permission"),
    row("Unwell UnwellTarget", "TargetHealth, FailingTarget", DELIVERY),
    row("Place", "TargetRef; ResumePoint", (*DELIVERY, *GATEWAY)),
    row("Places _Places _comes", "ConcurrencyLimits, InFlightLimit, _acquire"),
    row("_tell", "_publish"),
    row("Readings", "StreamLeases", GATEWAY),
    row("Claim", "Lease", GATEWAY),
    row("Ears Book Ambush Blow", "BusListener, Scoreboard, Trap, Hit", CHAOS),
    row("Given Habit Nursery Clockwork", "RobotSpec, Pattern, ForkServer, SharedClock", CHAOS),
    row("Board Card Directory", "QueueState, RobotSummary, RobotCache", SCHEDULER),
    row("Aftermath AskAfterSlots AskDispatcher TakeBack", "RunEndEffects, ReconcileSlots, CancelQueued"),
    row("LookAround look_around Surroundings Lately", "GatherSituation, Situation, RecentRuns"),
    row("Brought", "SignalResult", EXECUTOR),
    row("look_at swept spared", "check_at, from_sweeper, already_done", EXECUTOR),
    row("Parcel Enclosure", "OutgoingMessage, ResolvedAttachment"),
    row("Bulletin Notices TriedInVain", "FeedPublisher, TargetEvents, TransientReply"),
    row("Recognise", "Deduplicate"),
    row("Taken Woken Received", "IngestResult, StartedRun, IngestResult", GATEWAY),
    row("JudgeRobot judge_robot judged_at", "TrackRobotHealth, track_robot_health, health_at"),
    row("judged", "with_health", GATEWAY),
    row("Seals SealedSecret", "SecretCipher, EncryptedSecret"),
    row("Controls hearing", "PausedExecutions, follow_control", DELIVERY),
    row("Parts", "UseCases", (*GATEWAY, *EXECUTOR, *DELIVERY)),
    row("ask_patiently serve_beside", "rpc.call_long, embedded_http.serve"),
    row("Announce Report", "EventPublisher, Heartbeat", EXECUTOR),
    row("EVERYBODY", "the constant of the contracts"),
    row("AgentAnswered CalledBack SlotsChecked SlotChecked Controlled Intervened Withdrawn", "XReply"),
    row("ExecutionRead TriggerRead GoalsChecked DeliveriesReplayed RobotsRead RulesChecked", "XReply"),
    row("ExecutionsListed DeliveriesListed WaitingListed SubscriptionsListed PlansListed TargetsListed", "XPage"),
    row("SuppressionsListed", "XPage"),
    row("SharedSearched SharedFound PlanChanged ExecutionReplayed DeliveryRead AttemptRead TargetRead", "XReply"),
    row("Pace", "Timeouts", (*EXECUTOR, *SCHEDULER)),
    row("Hold", "LeaseSettings", EXECUTOR),
    row("_going", "_tasks"),
)
"""Identifiers. One that could be an ordinary word counts as a token of Python and between backticks only."""

FUNCTIONS = (
    row("seen settled", "with_execution, step_reset", EXECUTOR),
    row("peek tell bring told late lately takers give caller", "read_free … by_callback", EXECUTOR),
    row("happened", "recent_lines", EXECUTOR),
    row("look", "due", SCHEDULER),
)
"""Ordinary words, replaced as the name of a function."""

PARAMETERS = (row("must of", "must_claim, step", ("services/executor/src/executor/",)),)

CLASSES = {
    r"(?:Memory|Dict)(?!Entry|Error|Object)[A-Z][a-z]\w+": "InMemory…",
    r"(?:Saying|Fake)[A-Z][a-z]\w+": "Scripted…",
    r"Bus(?:Agents|Schedule|Knowledge|Executions)": "Nats…",
}
"""Fakes are `InMemory…` (stores) and `Scripted…` (answerers); adapters over NATS are `Nats…`."""

MODULES = (
    row("subscribers", "handlers, feed_clients", ("services/", "libs/")),
    row("give_word trail ledger drive perform hands later changes preparing deciding", "house names", EXECUTOR),
    row("look_around surroundings lately aftermath announce report", "house names", EXECUTOR),
    row("aftermath card directory withdraw", "run_end_effects, robot_summary, robot_cache", SCHEDULER),
    row("ask_leave unwell places enclosures parcel bulletin controls", "house names", DELIVERY),
    row("readings judge_robot seals sealing recognise", "change_streams, track_robot_health", GATEWAY),
    row("guarded tracking published addresses parts", "auth_routes, request_log, contracts, client_ip", GATEWAY),
    row("ears book kinds signals parties nursery clockwork", "bus_listener, scoreboard, fault_points", CHAOS),
    row("kit world desk whole workshop wandering", "harness, fixtures", TESTS),
    row("firsttime standing moments lines texts faults checks", "bootstrap, robot_status, timestamps", CLI),
    row("course standing merging turns capacity replaying ledger", "run_history, robot_state", CONTRACTS),
    row(
        "patience asking watching serving_beside delivery",
        "rpc, live, embedded_http",
        ("libs/common/src/rota_common/bus",),
    ),
)
