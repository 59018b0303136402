"""Recorded PyTorch programs: one training step of every rank, operator by operator, as a Plan.

`program.py` is what a user's file says. Each rank is recorded in a process of its own (`launch.py`, `worker.py`) by a
dispatch mode (`recorder.py`) that follows storages, views and versions (`memory.py`) and so turns what happens in
place into single assignment. `assemble.py` makes the recordings of all ranks into one Plan; `replay.py` runs a Plan
on real tensors. This is the only room that imports torch, and only where something is recorded or replayed.
"""
