"""Proves, or refutes with numbers, that a parallelized training plan computes what the single-device plan computes."""

__version__ = "0.1.0"
