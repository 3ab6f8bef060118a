"""Addresses without their keys."""

import pytest

from rota_common.shown import shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pw@a.example:8443/in/x?token=secret#part", "https://a.example:8443/in/x"),
        ("http://[2001:db8::1]:80/x?y", "http://[2001:db8::1]:80/x"),
        ("https://a.example", "https://a.example"),
        ("https://a.example/v1/webhooks/incoming_leads.json", "https://a.example/v1/webhooks/incoming_leads.json"),
        (
            "https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/XxYyZz0123456789",
            "https://hooks.slack.com/services/…/…/…",
        ),
        ("https://discord.com/api/webhooks/1234567890/abCD-efGH_12", "https://discord.com/api/webhooks/…/…"),
        (
            "https://open.feishu.cn/open-apis/bot/v2/hook/0f8a2b6c-1d2e-4f30",
            "https://open.feishu.cn/open-apis/bot/v2/hook/…",
        ),
        ("https://api.telegram.org/bot123456:AAFxyz/sendMessage", "https://api.telegram.org/…/…"),
    ],
)
def test_a_url_is_shown_without_what_may_be_a_key(url: str, shown: str) -> None:  # DC-14
    assert shown_url(url) == shown
