"""Elements of a page: all text of a plan goes through here, so that none of it is ever taken for markup."""

from xml.etree.ElementTree import Element, SubElement

from verdict.report.readable import readable


def add(parent: Element, tag: str, text: str = "", /, **attributes: str) -> Element:
    """A new last child, with harmless characters only."""
    child = SubElement(parent, tag, {key: readable(value) for key, value in attributes.items()})
    child.text = readable(text) or None
    return child
