"""Signatures as Standard Webhooks define them: one per active secret, with a shared secret or with ed25519."""

import base64
import binascii
import hashlib
import hmac

from nacl.signing import SigningKey

from rota_common.errors import Permanent

SYMMETRIC, ASYMMETRIC = "whsec_", "whsk_"
SEED_BYTES = 32


def signatures(secrets: str, *, reference: str, delivery_id: str, timestamp: int, body: str) -> str:
    """The value of `webhook-signature`: one signature for each of the secrets, which are separated by spaces.

    Raises Permanent, which names `reference`, the owner's reference to them, and shows nothing of a secret.
    """
    content = f"{delivery_id}.{timestamp}.{body}".encode()
    try:
        made = [_sign(secret, content) for secret in secrets.split()]
    except (binascii.Error, ValueError):
        made = []
    if not made:
        raise Permanent(
            f"expected secrets like whsec_<base64> or whsk_<base64 of an ed25519 key> in {reference}, "
            "with a space between two of them"
        ) from None  # what failed may quote the secret
    return " ".join(made)


def _sign(secret: str, content: bytes) -> str:
    if secret.startswith(SYMMETRIC):
        digest = hmac.new(_key(secret.removeprefix(SYMMETRIC)), content, hashlib.sha256).digest()
        return f"v1,{base64.b64encode(digest).decode()}"
    if secret.startswith(ASYMMETRIC):
        signed = _ed25519(_key(secret.removeprefix(ASYMMETRIC))).sign(content)
        return f"v1a,{base64.b64encode(signed.signature).decode()}"
    raise ValueError("neither kind of secret")


def _key(text: str) -> bytes:
    key = base64.b64decode(text, validate=True)
    if not key:
        raise ValueError("empty")
    return key


def _ed25519(key: bytes) -> SigningKey:
    """The private key alone, or with its public key behind it, as most tools write it."""
    seed, public = key[:SEED_BYTES], key[SEED_BYTES:]
    private = SigningKey(seed)
    if public and public != bytes(private.verify_key):
        raise ValueError("the public key belongs to another private key")
    return private
