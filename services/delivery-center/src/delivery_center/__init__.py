"""The delivery-center: sends results to their targets, retries what failed, and keeps the delivery log."""
