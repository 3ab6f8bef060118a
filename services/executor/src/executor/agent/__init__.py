"""The agent runtime: how an assistant thinks, uses tools, looks at what came of them, and answers."""
