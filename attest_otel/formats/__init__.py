"""Text from outside, read strictly: JSON as it was spelled, YAML with its lines, files within limits."""
