"""Clients' addresses, with and without proxies in between."""

import pytest
from starlette.requests import Request

from rota_common.urls import networks
from trigger_gateway.http.client_ip import client_ip

PROXIES = "10.0.0.0/8, 2001:db8:ff::/48"


def request(peer: str | None, *forwarded: str) -> Request:
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    return Request({"type": "http", "headers": headers, "client": (peer, 1234) if peer else None})


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "address"),
    [
        ("192.0.2.7", (), "", "192.0.2.7"),
        ("192.0.2.7", ("198.51.100.1",), "", "192.0.2.7"),  # no proxy is trusted
        ("192.0.2.7", ("198.51.100.1",), PROXIES, "192.0.2.7"),  # not this one
        ("10.1.1.1", ("198.51.100.1",), PROXIES, "198.51.100.1"),
        ("10.1.1.1", ("203.0.113.9, 198.51.100.1, 10.2.2.2",), PROXIES, "198.51.100.1"),  # 203… may be invented
        ("10.1.1.1", ("203.0.113.9", "198.51.100.1"), PROXIES, "198.51.100.1"),
        ("10.1.1.1", (), PROXIES, "10.1.1.1"),
        ("10.1.1.1", ("10.3.3.3",), PROXIES, "10.3.3.3"),
        ("10.1.1.1", ("nonsense",), PROXIES, "10.1.1.1"),
        ("10.1.1.1", ("198.51.100.1, nonsense",), PROXIES, "10.1.1.1"),
        ("::ffff:10.1.1.1", ("198.51.100.1",), PROXIES, "198.51.100.1"),
        ("2001:db8:1:2:3::4", (), "", "2001:db8:1:2::/64"),
        ("2001:db8:ff::1", ("2001:db8:7:8::9",), PROXIES, "2001:db8:7:8::/64"),
        ("::ffff:192.0.2.7", (), "", "192.0.2.7"),
        (None, (), "", "unknown"),
        ("testclient", (), "", "unknown"),
    ],
)
def test_the_address_that_is_counted(peer: str | None, forwarded: tuple[str, ...], trusted: str, address: str) -> None:
    assert client_ip(request(peer, *forwarded), networks(trusted)) == address
