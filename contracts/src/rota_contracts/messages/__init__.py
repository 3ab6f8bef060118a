"""Messages: the payloads of facts, requests and replies, one module per noun."""
