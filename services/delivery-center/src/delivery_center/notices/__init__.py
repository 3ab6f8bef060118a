"""Notices: mails to members about robots, which the gateway requests."""
