"""Hooks around calls of models and tools: what they are shown, and what their replies change."""
