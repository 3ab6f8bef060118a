"""Signals: control, interventions and callback results, applied to a run."""
