"""Signatures that the libraries of Standard Webhooks verify, and its ed25519 example."""

import base64
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from standardwebhooks.webhooks import Webhook as StandardWebhook
from standardwebhooks.webhooks import WebhookVerificationError
from svix.webhooks import Webhook as SvixWebhook

from delivery_center.adapters.webhook_signing import signatures
from rota_common.errors import Permanent

ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = '{"test": 2432232314}'
SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

# The example of the asymmetric scheme: private and public key, and what they make of ID, BODY and this timestamp.
PRIVATE = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
PUBLIC = "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
EXAMPLE_AT = 1614265330
EXAMPLE = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="


def signed(secrets: str, *, at: int = EXAMPLE_AT, body: str = BODY) -> str:
    return signatures(secrets, reference="$ENV.HOOK", delivery_id=ID, timestamp=at, body=body)


def verify_ed25519(signature: str, content: bytes) -> None:
    """As a receiver does that has the public key and nothing else."""
    version, _, encoded = signature.partition(",")
    assert version == "v1a"
    Ed25519PublicKey.from_public_bytes(base64.b64decode(PUBLIC)).verify(base64.b64decode(encoded), content)


def test_the_libraries_of_the_standard_verify_a_shared_secret(subtests: pytest.Subtests) -> None:
    for body, library in product([BODY, '{"text": "ünïcode \U0001f916"}'], [StandardWebhook, SvixWebhook]):
        with subtests.test(body=body, library=library):
            at = int(datetime.now(UTC).timestamp())
            header = signed(f"{OTHER} {PRIVATE} {SHARED}", at=at, body=body)
            headers = {"webhook-id": ID, "webhook-timestamp": str(at), "webhook-signature": header}
            for secret in (SHARED, OTHER):
                library(secret).verify(body, headers)


def test_a_changed_message_fails_verification(subtests: pytest.Subtests) -> None:
    for changed in ["webhook-id", "webhook-timestamp", "body", "secret"]:
        with subtests.test(changed=changed):
            at = int(datetime.now(UTC).timestamp())
            headers = {"webhook-id": ID, "webhook-timestamp": str(at), "webhook-signature": signed(SHARED, at=at)}
            if changed in headers:
                headers[changed] = str(at + 1) if changed == "webhook-timestamp" else f"{ID}x"
            body = BODY.replace("4", "5") if changed == "body" else BODY
            with pytest.raises(WebhookVerificationError):
                StandardWebhook(OTHER if changed == "secret" else SHARED).verify(body, headers)


def test_signatures_equal_those_of_the_libraries() -> None:
    at = datetime.fromtimestamp(EXAMPLE_AT, UTC)
    assert signed(SHARED) == StandardWebhook(SHARED).sign(ID, at, BODY) == SvixWebhook(SHARED).sign(ID, at, BODY)
    assert signed(SHARED) != StandardWebhook(SHARED).sign(ID, at + timedelta(seconds=1), BODY)


def test_ed25519_signs_like_the_example_and_the_public_key_verifies_it() -> None:  # F4
    assert signed(PRIVATE) == EXAMPLE
    verify_ed25519(EXAMPLE, f"{ID}.{EXAMPLE_AT}.{BODY}".encode())
    with pytest.raises(InvalidSignature):
        verify_ed25519(EXAMPLE, f"{ID}.{EXAMPLE_AT}.{BODY} ".encode())


def test_a_private_key_alone_is_enough() -> None:
    seed = base64.b64decode(PRIVATE.removeprefix("whsk_"))[:32]
    assert signed(f"whsk_{base64.b64encode(seed).decode()}") == EXAMPLE


def test_each_secret_gives_one_signature_in_their_order() -> None:
    versions = [each.partition(",")[0] for each in signed(f"  {SHARED}\n{PRIVATE} {OTHER} ").split(" ")]
    assert versions == ["v1", "v1a", "v1"]


def _other_public_key() -> str:
    seed = base64.b64decode(PRIVATE.removeprefix("whsk_"))[:32]
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    return f"whsk_{base64.b64encode(seed + other).decode()}"


def test_an_invalid_secret_is_refused_and_never_shown(subtests: pytest.Subtests) -> None:
    cases = [
        "",
        " ",
        "whsec_",
        "whsec_%%%%",
        "whsec_abc",
        "whsk_",
        "whsk_AAAA",
        f"whpk_{PUBLIC}",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        f"{SHARED} plain-password",
        _other_public_key(),
    ]
    for secrets in cases:
        with subtests.test(secrets=secrets):
            with pytest.raises(Permanent, match=r"expected secrets like whsec_<base64> .* in \$ENV\.HOOK") as caught:
                signed(secrets)
            shown = str(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__suppress_context__)
            assert all(part.partition("_")[2] not in shown for part in secrets.split() if part.partition("_")[2])
            assert "plain-password" not in shown
