"""Commands against a running Rota."""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest
from pymongo import MongoClient

from tests.integration.cli.harness import EXAMPLES, Rota, Up

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("running")]

ASSISTANT = str(EXAMPLES / "robots" / "sales-assistant.yaml")
PROCESSOR = str(EXAMPLES / "robots" / "lead-processor.yaml")
LEAD = f"@{EXAMPLES / 'events' / 'lead-created.json'}"


@pytest.fixture(scope="module", autouse=True)
def robots(rota: Rota, running: Up) -> None:
    quiet = rota.home / "quiet.yaml"
    quiet.write_text("member_id: quiet\nrobot_config: {identity: {role: A}}\n")
    rota.json("apply", "-f", ASSISTANT, "-f", PROCESSOR, "-f", str(quiet))
    rota.json("sources", "add", "leads", "--secret", "$ENV.LEADS_SECRET")


def test_applying_again_prints_unchanged_and_a_change_prints_changed(rota: Rota) -> None:
    # TG-17
    assert [one["outcome"] for one in rota.json("apply", "-f", ASSISTANT)] == ["unchanged"]
    changed = rota.home / "robot.yaml"
    changed.write_text("member_id: changing\nrobot_config: {identity: {role: A}}\n")
    assert [one["outcome"] for one in rota.json("apply", "-f", str(changed))] == ["created"]
    changed.write_text("member_id: changing\nrobot_config: {identity: {role: B}}\n")
    assert [(one["outcome"], one["rev"]) for one in rota.json("apply", "-f", str(changed))] == [("changed", 2)]


def test_robots_are_listed_and_one_can_be_deleted(rota: Rota) -> None:
    # TG-17
    doomed = rota.home / "doomed.yaml"
    doomed.write_text("member_id: doomed\nrobot_config: {identity: {role: A}}\n")
    rota.json("apply", "-f", str(doomed))
    assert "doomed" in {one["member_id"] for one in rota.json("robots")[0]}
    assert rota.run("robots", "delete", "doomed", "--yes").returncode == 0
    assert "doomed" not in {one["member_id"] for one in rota.json("robots")[0]}


def test_deleting_without_yes_and_without_a_terminal_deletes_nothing(rota: Rota) -> None:
    command = rota.start("robots", "delete", "sales-assistant")
    command.communicate(input="", timeout=30)
    assert command.returncode == 1
    assert "sales-assistant" in rota.run("robots").stdout


def test_a_run_that_was_waited_for_is_completed_and_shown(rota: Rota) -> None:
    # TG-13, TG-21
    notes = rota.home / "notes.md"
    notes.write_text("BigCorp wants a discount.")
    (run,) = rota.json("trigger", "quiet", "--message", "Prepare for BigCorp", "--attach", str(notes), "--wait")
    assert run["status"] == "completed"
    shown = rota.run("executions", "show", run["execution_id"]).stdout
    assert "P1 Goals" in shown
    assert "verdict: passed" in shown
    listed = rota.json("executions", "--member", "quiet", "--status", "completed")[0]
    assert run["execution_id"] in {one["execution_id"] for one in listed["executions"]}


def test_a_mail_that_cant_be_sent_is_seen_wherever_one_looks(rota: Rota) -> None:
    # DC-14
    waited = rota.run("trigger", "sales-assistant", "--message", "Prepare for BigCorp", "--wait")
    assert (waited.returncode, "completed: " in waited.stdout) == (1, True), waited.stderr
    assert "email sales-manager@company.com: " in waited.stderr
    run = rota.json("executions", "--member", "sales-assistant")[0]["executions"][0]["execution_id"]
    assert "delivery  ✗ email sales-manager@company.com: " in rota.works("executions", "show", run)
    assert "✗ email sales-manager@company.com: " in rota.works("logs", run)
    (robots,) = rota.json("robots")
    states = {one["member_id"]: one["last_delivery"] for one in robots}
    assert states["sales-assistant"]["state"] in ("failed", "pending")


def test_an_intervention_and_a_dry_run_start_runs_too(rota: Rota) -> None:
    # TG-06, TG-14
    (run,) = rota.json("trigger", "sales-assistant", "--action", "task.add", "--message", "More", "--dryrun", "--wait")
    assert run["status"] == "completed"
    assert run["executor_mode"] == "dryrun"
    assert run["trigger"]["input"]["action"] == "task.add"


def test_an_action_outside_the_allow_list_fails_with_the_reason(rota: Rota) -> None:
    # TG-04
    refused = rota.run("trigger", "sales-assistant", "--action", "goal.add", "--message", "More")
    assert refused.returncode == 1
    assert "goal.add" in refused.stderr


def test_a_signed_webhook_triggers_only_the_subscribed_robot(rota: Rota) -> None:
    # TG-12
    (sent,) = rota.json(
        "webhook", "send", "leads", "--type", "lead.created", "--data", LEAD, "--secret", "$ENV.LEADS_SECRET"
    )
    assert [one["member_id"] for one in sent["triggers"]] == ["lead-processor"]
    (other,) = rota.json("webhook", "send", "leads", "--type", "lead.gone", "--secret", "$ENV.LEADS_SECRET")
    assert other["triggers"] == []


def test_a_webhook_signed_with_another_secret_is_refused(rota: Rota) -> None:
    refused = rota.run("webhook", "send", "leads", "--type", "lead.created", "--secret", "whsec_QUFB")
    assert refused.returncode == 1
    assert "403" in refused.stderr


@pytest.mark.skipif(not (shutil.which("openssl") and shutil.which("curl")), reason="the script needs openssl and curl")
def test_the_shell_script_posts_a_webhook_that_is_accepted(rota: Rota, running: Up) -> None:
    script, url = EXAMPLES / "post_webhook.sh", f"{running.ready['url']}/v1/hooks/{running.ready['team']}/leads"
    command = ["sh", str(script), url, "lead.created", LEAD.removeprefix("@")]
    done = subprocess.run(command, env=rota.environ(), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(json.loads(done.stdout)["triggers"]) == 1


def test_watching_shows_a_run_from_trigger_to_end(rota: Rota) -> None:
    # TG-40
    watch = rota.start("watch", "--member", "quiet", "--json")
    try:
        assert watch.stdout is not None
        # As programs: they start no sooner than the one that watches, which sees the second run from its beginning.
        rota.program("trigger", "quiet", "--message", "Watch this", "--wait")
        rota.program("trigger", "quiet", "--message", "Watch this too", "--wait")
        types = defaultdict[str, set[str]](set)
        for line in watch.stdout:
            event = json.loads(line)
            data = event["data"]
            run = types[data.get("execution_id") or data.get("context", {}).get("execution_id", "")]
            run.add(event["type"])
            if {"rota.v1.execution.started", "rota.v1.execution.finished"} <= run:
                break
        assert "rota.v1.delivery.completed" in run
    finally:
        watch.terminate()
        watch.communicate(timeout=30)


def test_the_dead_letters_are_empty_and_an_unknown_one_is_an_error(rota: Rota) -> None:
    assert rota.json("dead", "list") == [[]]
    assert rota.json("dead", "redrive", "--all") == []
    missing = rota.run("dead", "show", "77")
    assert missing.returncode == 1
    assert "77" in missing.stderr


def test_the_doctor_finds_everything_while_rota_runs(rota: Rota) -> None:
    found = {one["part"]: one["level"] for one in rota.json("doctor")}
    assert "missing" not in found.values()
    assert {"gateway", "scheduler", "executor", "validator", "delivery-center", "learner", "memory"} <= set(found)


def test_an_upgrade_is_checked_against_streams_and_stored_documents(rota: Rota, running: Up) -> None:
    found = {one["part"]: one["level"] for one in rota.json("upgrade", "--check")}
    assert "missing" not in found.values()
    assert {"trigger-gateway", "topology", "rota_gateway", "rota_scheduler", "rota_executor", "rota_delivery"} <= set(
        found
    )
    client: MongoClient[dict[str, Any]] = MongoClient(running.ready["mongo_url"])
    with client:
        robots = client["rota_gateway"]["robots"]
        robots.insert_one({"_id": "strange", "team": "none", "form": 7})
        try:
            checked = rota.run("upgrade", "--check")
        finally:
            robots.delete_one({"_id": "strange"})
    assert checked.returncode == 1
    assert "robots strange: KeyError" in " ".join(checked.stdout.split())


def test_stored_documents_in_an_older_form_are_named_and_migrated(rota: Rota, running: Up) -> None:  # F7
    client: MongoClient[dict[str, Any]] = MongoClient(running.ready["mongo_url"])
    with client:
        robots = client["rota_gateway"]["robots"]
        before = list(robots.find())
        robots.update_many({}, {"$unset": {"databases": "", "form": ""}})
        (noted,) = (one for one in rota.json("upgrade", "--check") if one["part"] == "rota_gateway.robots")
        migrate = (sys.executable, "-m", "rota_common.migrate", "trigger-gateway")
        environ = rota.environ() | {"ROTA_MONGO_URL": running.ready["mongo_url"]}
        done = subprocess.run(migrate, env=environ, capture_output=True, text=True, check=True)
        assert list(robots.find()) == before
    assert (noted["level"], noted["found"]) == ("note", f"{len(before)} documents without their databases")
    assert "rota_common.migrate" in noted["mend"]
    assert done.stdout == f"rota_gateway.robots without their databases: {len(before)} migrated\n"


def test_the_example_feed_client_reads_a_delivery(rota: Rota, running: Up) -> None:
    # DC-10
    (added,) = rota.json("feed-clients", "add", running.ready["team"], "example")
    rota.json("trigger", "quiet", "--message", "For the subscriber", "--wait")
    who = ("--team", running.ready["team"], "--name", added["name"], "--key", added["key_file"])
    subscriber = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "subscribers" / "with_nats_py.py"), "--url", running.ready["nats_url"], *who],
        env=rota.environ(),
        cwd=rota.home,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert subscriber.stdout is not None
        for line in subscriber.stdout:
            if json.loads(line)["subject"] == "rota.v1.delivery.completed.main.quiet":
                return
        raise AssertionError("the program ended before it read the delivery")
    finally:
        subscriber.terminate()
        subscriber.communicate(timeout=30)
