"""The validator: checks task results against their rules."""
