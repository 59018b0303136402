"""Names of plans, made harmless: what would steer a terminal, or is no character, is shown instead of done."""

PICTURES = 0x2400
"""Where Unicode has the pictures of the control characters, in their order."""
STEERING = (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF)
NO_CHARACTERS = range(0xD800, 0xE000)
"""Controls beyond ASCII, marks that turn the direction of text, and halves of pairs, which no file can hold."""
SHOWN = {
    **{code: PICTURES + code for code in range(0x20)},
    0x7F: 0x2421,
    **dict.fromkeys((*STEERING, *NO_CHARACTERS), 0xFFFD),
}


def readable(text: str) -> str:
    """One line, each character that is not to be printed replaced by one that is."""
    return text.translate(SHOWN)
