"""What Byzantine agents say in the learning phase."""
