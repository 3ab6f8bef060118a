"""The door for new work: shut while the bus is nearly full, and for a team that takes its share of it."""

from dataclasses import dataclass

from rota_common.bus.room import BusRoom
from rota_common.errors import Transient
from rota_contracts.messages.trigger import TriggerReceivedV1
from trigger_gateway.problems import TooMany
from trigger_gateway.runs.ports import Triggers

AGAIN_AFTER_S = 30


@dataclass(frozen=True)
class AdmitWork:
    room: BusRoom

    def check(self, team: str) -> None:
        """Raise Transient while the bus is nearly full, TooMany while the team has its share."""
        if self.room.refusal:
            text = f"no new work is taken now, and what was accepted goes on: {self.room.refusal}"
            raise Transient(text, after=AGAIN_AFTER_S)
        if over := self.room.over_share(team):
            text = f"team {team} has {over.what}, which is all that one team may: send it again in {over.again_after} s"
            raise TooMany("team_full", text, after=over.again_after)


@dataclass(frozen=True, kw_only=True)
class AdmittedTriggers:
    """Triggers that pass the door. With `patient` a team at its share has to wait, as everybody has to when the bus is
    nearly full: for senders that can't be refused."""

    triggers: Triggers
    admit: AdmitWork
    patient: bool = False

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        try:
            self.admit.check(trigger.team_id)
        except TooMany as full:
            if self.patient:
                raise Transient(full.message, after=full.after) from full
            raise
        new = await self.triggers.publish(trigger, trace=trace)
        if new:
            self.admit.room.count(trigger.team_id, len(trigger.model_dump_json()))
        return new
