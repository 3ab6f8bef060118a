"""What the validator needs of the outside world."""
