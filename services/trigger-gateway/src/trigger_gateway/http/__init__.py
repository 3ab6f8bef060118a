"""The HTTP side: one file per topic, errors in one form, authentication in front of everything but webhooks."""
