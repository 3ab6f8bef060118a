"""Spans of traces: their form for OpenTelemetry, and their export."""
