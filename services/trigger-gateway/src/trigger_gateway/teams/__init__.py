"""Teams, their API keys and roles."""
