"""Sources of events: their settings, secrets and signature schemes."""
