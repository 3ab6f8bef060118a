"""An expected failure, printed as text without a traceback."""


class CliError(Exception):
    """`what` states what was expected and what happened, `hint` what to do; `details` are further lines."""

    def __init__(self, what: str, *, hint: str = "", details: list[str] | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.details = details or []
