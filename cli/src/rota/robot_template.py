"""The definition that a new robot begins with: every field, with what it does."""

from importlib.resources import files

from pydantic import TypeAdapter, ValidationError

from rota.errors import CliError
from rota_contracts.model import Name

NAME, SCHEMA = "ROBOT", "# yaml-language-server: $schema=robot.schema.json\n"


def template(member_id: str, *, schema: str = "") -> str:
    """YAML without a newline at its end. `schema`: its address, for editors; empty: none is named. CliError if there
    can't be such a robot."""
    try:
        TypeAdapter(Name).validate_python(member_id)
    except ValidationError as error:
        what = f"expected a name of letters, digits, - and _, at most 64, not {member_id!r}"
        raise CliError(what, hint="for example: rota robots init support") from error
    text = files("rota").joinpath("robot_template.yaml").read_text(encoding="utf-8")
    line = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    return text.replace(SCHEMA, line).replace(NAME, member_id).rstrip("\n")
