"""A team's public agents and startable robots as agents of the Agent2Agent protocol (A2A), version 1.0, in JSON-RPC.

The shapes are our own: the SDK's server part is larger than what is used of the protocol (decision 0002).
"""
