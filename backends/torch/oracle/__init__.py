"""The oracle of another house: plans executed by torch's operators and torch's autograd, all ranks in lockstep.

Of the proof it shares the plan as a value and the walk of a schedule (`verdict.graph`), and nothing else: neither the
operators' rules nor their gradients, nor how tensors of two plans are found to be the same, nor how results are
compared. `own.py` and `blocks.py` say which torch functions the plan format's own operators are; `nodes.py` runs one
node; `machine.py` a plan; `given.py` draws what it is given; `ends.py` compares what two plans declare.
"""

from verdict.backends.torch.oracle.compare import FULL_WORK, alone, compare, oracle
from verdict.comparison import Engine

ENGINE = Engine(compare, alone, FULL_WORK)

__all__ = ["ENGINE", "alone", "compare", "oracle"]
