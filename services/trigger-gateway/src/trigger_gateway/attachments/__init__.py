"""Attachments: files that go with results, within each team's share."""
