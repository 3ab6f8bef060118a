"""The conversation with an assistant: messages, calls of tools, and the loop of one turn. Pure."""
