"""Campaigns with fresh seeds: plan mutants, attribute changes, program mutants, held against a truth from outside.

A campaign answers numbered questions: `ask(number)` is one line of a table, which seed and number make again. What is
missed is written as a small pair of plans, or a program, for others to read.
"""
