"""Calls of agents by people and programs outside."""
