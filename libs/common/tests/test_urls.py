"""The SSRF guard, with a scripted resolver."""

import asyncio
import ipaddress
from socket import gaierror
from threading import Event
from typing import Any

import pytest

from rota_common.errors import Permanent, Transient
from rota_common.urls import Resolver, Target, checked_target, is_public, networks


def resolving_to(*addresses: str) -> Resolver:
    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolver


def fails(error: Exception) -> Resolver:
    async def resolver(host: str, port: int) -> list[str]:
        raise error

    return resolver


PRIVATE = [
    "127.0.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "fe80::1",
    "fc00::1",
    "fec0::1",
    "ff02::1",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "198.18.0.1",
    "240.0.0.1",
    "::ffff:0:127.0.0.1",
    "::ffff:0.0.0.0",
    "64:ff9b::a9fe:a9fe",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2606:2800:220:1:0:5efe:7f00:1",
    "2606:2800:220:1:200:5efe:a9fe:a9fe",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "::2",
    "fd00:ec2::254",
]


@pytest.mark.parametrize("address", PRIVATE)
async def test_an_address_that_is_not_public_is_refused(address: str) -> None:  # DC-10
    with pytest.raises(Permanent, match="not a public address: allow its network in ROTA_ALLOW_PRIVATE_TARGETS"):
        await checked_target("http://hooks.example.org/", resolver=resolving_to(address))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
async def test_a_public_address_is_the_one_to_connect_to(address: str) -> None:
    found = await checked_target("https://hooks.example.org/x", resolver=resolving_to(address))
    assert found == Target("hooks.example.org", 443, address)


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(Permanent, match=r"10\.0\.0\.1"):
        await checked_target("http://two.example.org/", resolver=resolving_to("93.184.216.34", "10.0.0.1"))


async def test_an_address_with_a_zone_is_judged_without_it() -> None:
    with pytest.raises(Permanent):
        await checked_target("http://zone.example.org/", resolver=resolving_to("fe80::1%eth0"))


async def test_a_network_that_is_allowed_may_be_private() -> None:
    allowed = networks("127.0.0.0/8, fd00::/8")
    for address in ("127.0.0.1", "fd00::7"):
        found = await checked_target("http://inside:8080/", allowed=allowed, resolver=resolving_to(address))
        assert found == Target("inside", 8080, address)


async def test_allowing_one_network_allows_no_other() -> None:
    with pytest.raises(Permanent, match=r"10\.0\.0\.1"):
        await checked_target("http://inside/", allowed=networks("127.0.0.0/8"), resolver=resolving_to("10.0.0.1"))


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "gopher://example.org", "//example.org", "http://", "http:///x"]
)
async def test_only_http_urls_with_a_host_are_accepted(url: str) -> None:
    with pytest.raises(Permanent, match="expected a URL with http or https and a host"):
        await checked_target(url, resolver=resolving_to("93.184.216.34"))


@pytest.mark.parametrize(
    "url", ["http://[::1/", "http://example.org:99999/", "http://example.org:x/", "http://example.org:0/"]
)
async def test_an_invalid_url_is_a_permanent_failure(url: str) -> None:
    with pytest.raises(Permanent, match="expected a URL"):
        await checked_target(url, resolver=resolving_to("93.184.216.34"))


async def test_a_user_in_the_url_is_not_taken_for_the_host() -> None:
    found = await checked_target(
        "http://trusted.example.org@hooks.example.org/", resolver=resolving_to("93.184.216.34")
    )
    assert found.host == "hooks.example.org"


async def test_names_whose_servers_do_not_answer_block_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event()

    def getaddrinfo(host: str, port: int, **_: object) -> list[Any]:
        if host.startswith("slow"):
            answers.wait(10)
        return [(None, None, None, "", ("93.184.216.34", port))]

    monkeypatch.setattr("rota_common.urls.socket.getaddrinfo", getaddrinfo)
    slow = [asyncio.create_task(checked_target(f"http://slow{number}.example.org/")) for number in range(16)]
    await asyncio.wait_for(checked_target("http://fast.example.org/"), 5)
    assert not any(task.done() for task in slow)
    answers.set()
    await asyncio.gather(*slow)


async def test_a_failed_lookup_is_transient() -> None:
    with pytest.raises(Transient, match="can't resolve gone.example.org"):
        await checked_target("http://gone.example.org/", resolver=fails(gaierror("no such name")))
    with pytest.raises(Transient, match="no addresses"):
        await checked_target("http://gone.example.org/", resolver=resolving_to())


async def test_an_impossible_name_is_a_permanent_failure() -> None:
    with pytest.raises(Permanent, match="can't be a host name"):
        await checked_target(f"http://{'a' * 64}.example.org/", resolver=fails(UnicodeError("label too long")))


async def test_the_port_of_the_url_is_the_one_to_connect_to() -> None:
    assert (await checked_target("https://a.example.org:8443/", resolver=resolving_to("93.184.216.34"))).port == 8443
    assert (await checked_target("http://a.example.org/", resolver=resolving_to("93.184.216.34"))).port == 80


def test_ipv4_inside_ipv6_is_judged_as_ipv4() -> None:
    assert is_public(ipaddress.ip_address("2002:5db8:d822::1"))
    assert not is_public(ipaddress.ip_address("2002:0a00:1::1"))


def test_a_wrong_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/99"):
        networks("127.0.0.0/8, 10.0.0.0/99")


def test_no_networks_are_allowed_by_an_empty_setting() -> None:
    assert networks("") == ()
