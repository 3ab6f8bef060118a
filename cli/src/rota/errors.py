"""A failure that was to be expected: it is told in words, without a traceback."""


class CliError(Exception):
    """`what` says what was expected and what came, `hint` what to do, `details` are lines of their own."""

    def __init__(self, what: str, *, hint: str = "", details: list[str] | None = None) -> None:
        super().__init__(what)
        self.what, self.hint, self.details = what, hint, details or []
