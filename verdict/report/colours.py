"""Colours that can be read on a light ground and on a dark one: each is at least three times as bright or dark as both.

They are those of the palette of 256 colours, since of the first sixteen a terminal's theme says what they are.
"""

RED = "bold color(160)"
GREEN = "bold color(28)"
AMBER = "bold color(130)"
BLUE = "bold color(31)"
