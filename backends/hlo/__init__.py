"""XLA's modules as text: what a compiler was given and what it made of it, as a pair of plans.

`text.py` reads a module, `literals.py` its constants, `devices.py` its replica groups and shardings. `lower.py`
evaluates the module for each device: what depends on no input is computed, everything else becomes a node of the plan
(`opcodes.py`, `windows.py`, `communication.py`). `pair.py` puts both plans together, as they are or
with their loops cut (`loops.py`, `induction.py`, `infinities.py`). No jax is imported, nothing in a
file is run.
"""
