"""torch.distributed.pipelining without its warm-up, in which the ranks vote by messages whether shapes are sent too."""

from collections.abc import Sequence
from typing import Any

from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining._utils import InferenceMode
from torch.distributed.pipelining.schedules import _PipelineSchedule

from verdict.errors import UsageError

OWNER, NAME = _PipelineSchedule, "_warmup_p2p"
"""What `vote` stands for."""


def vote(self: Any, stages: Sequence[Any], has_backward: bool, p2p_done: bool) -> None:
    """What all ranks vote for where each votes that its stages know their shapes; else it is refused."""
    for stage in stages:
        if not isinstance(stage, PipelineStage):
            continue
        if InferenceMode.needs_dynamic(stage._user_meta, has_backward):
            problem = f"PipelineStage {stage.stage_index} would receive the shapes of its inputs from another rank"
            raise UsageError("torch.distributed.pipelining", problem, "give it input_args and output_args")
        stage._inference_mode = InferenceMode.STATIC
