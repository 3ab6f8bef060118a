"""The context of a model: estimates of its size, its budget, and how a conversation is kept within it. Pure."""
