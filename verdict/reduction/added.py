"""What is added up in coordinates, each as often as it is: of i + j - 5 the logical tensors i and j, and a number."""

from collections import Counter

POSITION = -1
"""What stands for positions among coordinates: of any two axes they may be the same."""
NUMBER = -2
"""What stands for any number among what is added up."""


def coordinates(added: Counter[int]) -> Counter[int]:
    """The coordinates among what is added up."""
    return Counter({each: times for each, times in added.items() if each != NUMBER})
