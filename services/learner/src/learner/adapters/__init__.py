"""What the learner needs of the outside world."""
