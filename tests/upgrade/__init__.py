"""The last release is upgraded to this tree under load, service by service, and back."""
