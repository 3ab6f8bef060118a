"""References to secrets, and the message that carries their values."""

import pytest
from pydantic import TypeAdapter, ValidationError

from rota_contracts.messages.secrets import SecretsReply, SecretValue
from rota_contracts.secret_refs import SecretRef, secret_name

REFERENCE: TypeAdapter[str] = TypeAdapter(SecretRef)


def test_both_spellings_name_the_same_secret() -> None:  # DEC-44
    assert secret_name("$SECRET.CRM_TOKEN") == secret_name("$ENV.CRM_TOKEN") == "CRM_TOKEN"
    assert REFERENCE.validate_python("$SECRET.CRM_TOKEN") == "$SECRET.CRM_TOKEN"


@pytest.mark.parametrize(
    "text", ["CRM_TOKEN", "$SECRET.", "$ENV.a-b", "$SECRET.../beta/X", "$secret.A", "$SECRET.ä", "$SECRET." + "A" * 101]
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    assert secret_name(text) is None
    with pytest.raises(ValidationError, match="expected a reference like"):
        REFERENCE.validate_python(text)


def test_a_value_is_in_the_message_alone_and_in_no_text_about_it() -> None:
    reply = SecretsReply(secrets=[SecretValue(name="A", value="s3cret")])
    assert "s3cret" not in repr(reply)
    assert SecretsReply.model_validate_json(reply.model_dump_json()) == reply
    with pytest.raises(ValidationError) as caught:
        SecretsReply.model_validate_json(
            '{"secrets": [{"name": "a-b", "value": "s3cret"}, {"value": {"a": "s3cret"}}]}'
        )
    assert "s3cret" not in str(caught.value)
