"""How long tests wait for what must come."""

PATIENCE_S = 60.0
"""Ends a test that hangs; says nothing of speed, so it is far above what a busy machine takes."""
