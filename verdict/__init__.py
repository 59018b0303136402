"""Proves, or refutes with numbers, that a parallelized training plan computes what the single-device plan computes."""
