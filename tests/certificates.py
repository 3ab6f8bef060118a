"""Certificates for servers on loopback, made anew for each test session."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificates:
    """Files: the authority, the server's certificate and key, and both of these in one, as mongod reads them."""

    authority: Path
    certificate: Path
    key: Path
    both: Path


def make(folder: Path) -> Certificates:
    folder.mkdir()
    files = Certificates(*(folder / name for name in ("ca.crt", "tls.crt", "tls.key", "server.pem")))
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority, server = _name("The authority of a test"), _name("localhost")
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
    root = (
        _builder(authority, authority, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    leaf = (
        _builder(server, authority, server_key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files.authority.write_bytes(root.public_bytes(pem))
    files.certificate.write_bytes(leaf.public_bytes(pem))
    files.key.write_bytes(key)
    files.both.write_bytes(leaf.public_bytes(pem) + key)
    return files


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    at = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return builder.serial_number(x509.random_serial_number()).not_valid_before(at - DAY).not_valid_after(at + DAY)
