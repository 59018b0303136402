"""A second reading of docs/plan-format.md and docs/operators.md: a small interpreter of the plan text.

It is written from those two pages, reads the text itself and computes with plain torch in 64 bits. It imports nothing
of `verdict` and nothing of `backends`, and is held against `verdict run`: where they disagree, one of them or the page
is wrong.
"""
