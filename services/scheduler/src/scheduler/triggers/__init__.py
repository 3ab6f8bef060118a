"""The triggers of the queue, for the services and people who ask for them."""
