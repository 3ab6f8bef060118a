"""The trigger-gateway: the way in. Robots and teams over HTTP, webhooks, people's interventions, live events."""
