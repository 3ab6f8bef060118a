"""What the memory needs of the outside world."""
