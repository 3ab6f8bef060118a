"""Calls that wait for a person's approval, as a run keeps them."""

from rota_contracts.messages.approval import Approval, ApprovalStatus


class AskedCall(Approval):
    """An approval, and its call. `published`: the last published status. `always`: it holds for the rest of the
    run."""

    step_id: str
    published: ApprovalStatus | None = None
    always: bool = False

    def public(self) -> Approval:
        return Approval.model_validate(self.model_dump(include=set(Approval.model_fields)))

    @property
    def prompt(self) -> str:
        """As people are shown it."""
        return f"[Approval Required]\nTool: {self.tool}\nArgs: {self.arguments}"
