"""Webhooks: signed posts of senders become triggers."""
