"""The policy of calls: which a run may make at once, which wait for a person, and which it never makes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from executor.domain.calls.callee import Callee, of_tool
from executor.domain.conversation.chat import Tool
from executor.domain.run import Run
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.autonomy import Approvals, Autonomy, NeededRoles
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role, least

STRICTNESS = (Autonomy.READ_ONLY, Autonomy.SUPERVISED, None, Autonomy.FULL)
"""From the strictest on; None: full for what `resources` names, supervised for the rest."""

NO_EXCEPTIONS = Approvals()
NO_ROLES = NeededRoles()


@dataclass(frozen=True)
class Policy:
    """`always`: the tools that a person has approved for the rest of the run. `harmless`: the run calls nothing.
    `roles`: the calls that need one; `role`: the one that the run acts in."""

    autonomy: Autonomy | None = None
    approvals: Approvals = NO_EXCEPTIONS
    always: Collection[str] = ()
    harmless: bool = False
    roles: NeededRoles = NO_ROLES
    role: Role = Role.OWNER

    def refusal(self, callee: Callee) -> str:
        """Why this is never called; empty if it may be."""
        if self.harmless:
            return ""
        if (needed := needed_role(self.roles, callee.id)) and not self.role.covers(needed):
            return (
                f"role {needed}: {callee.id} needs it, and this run acts in the role {self.role}; "
                "use what needs none, or say in your answer what is to be done"
            )
        if not callee.changes or self.autonomy is not Autonomy.READ_ONLY:
            return ""
        return (
            f"autonomy read_only: {callee.id} isn't known to change nothing, so it can't be called here; "
            "use what only reads, or say in your answer what is to be done"
        )

    def question(self, callee: Callee) -> str:
        """Why a person must approve this call; empty if none must."""
        if self.harmless:
            return ""
        if matches(self.approvals.always_ask, callee.id):
            return "approvals.always_ask names it"
        if matches(self.approvals.auto_approve, callee.id) or callee.id in self.always:
            return ""
        if not callee.changes or self.autonomy is Autonomy.FULL:
            return ""
        if self.autonomy is Autonomy.SUPERVISED:
            return "autonomy supervised: it may change something"
        if callee.destructive:
            return "its server says that it may destroy something"
        return "" if callee.named else "it may change something, and resources doesn't name it"


def policy_of(run: Run, of_agent: Autonomy | None = None) -> Policy:
    """The policy for a call of this run, by an agent with an autonomy of its own."""
    return Policy(
        autonomy=stricter(run.robot.robot_config.autonomy, of_agent),
        approvals=run.robot.robot_config.approvals,
        always=run.always,
        harmless=run.execution.executor_mode is not ExecutorMode.STANDARD,
        roles=run.robot.robot_config.roles,
        role=role_of(run),
    )


def role_of(run: Run) -> Role:
    """The role that a run acts in: the least of its trigger's, the robot's own for such triggers, and of all who have
    intervened, since their words are in it, too."""
    trigger = run.execution.trigger
    return least(trigger.highest_role, run.robot.own_role(trigger.type), run.lowered or Role.OWNER)


def needed_role(roles: NeededRoles, name: str) -> Role | None:
    """The role that a call needs; None if it needs none."""
    lists = {Role.OWNER: roles.owner, Role.ADMIN: roles.admin, Role.MEMBER: roles.member}
    return next((role for role, patterns in lists.items() if matches(patterns, name)), None)


def stricter(of_robot: Autonomy | None, of_agent: Autonomy | None) -> Autonomy | None:
    """An agent without one adds nothing."""
    return of_robot if of_agent is None else min(of_robot, of_agent, key=STRICTNESS.index)


def permitted(tools: Sequence[Tool], policy: Policy) -> list[Tool]:
    """The tools that are offered at all."""
    return [tool for tool in tools if not policy.refusal(of_tool(tool))]


def permitted_to(robot: Robot, role: Role, tools: Sequence[Tool]) -> list[Tool]:
    """The tools that are offered to any agent of this robot in a run that acts in this role."""
    return permitted(tools, Policy(robot.robot_config.autonomy, roles=robot.robot_config.roles, role=role))


def processes_for(run: Run) -> list[str]:
    """The names of the processes that a plan of this run may use, for prompts."""
    roles, role = run.robot.robot_config.roles, role_of(run)
    return [name for name in run.robot.callable_processes() if role.covers(needed_role(roles, name) or Role.VIEWER)]


def matches(patterns: Sequence[str], name: str) -> bool:
    """A pattern is the whole name, or ends in `*`."""
    return any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in patterns)
