"""Abstract interpretation (the walk): which parallel tensors rebuild which single-device tensor."""

from verdict.graph import Place
from verdict.lineage.binding import INITIAL_STATE, INPUT_RANGES, Binding, Unstated, bind
from verdict.lineage.holdings import CHUNK_ORDER
from verdict.lineage.indexing import join, join_region, split, split_region
from verdict.lineage.lineages import Evidence, Gap, IgnoredLaw, Law, Lineages, LinearLaw, SumLaw
from verdict.lineage.meaning import Meaning, Signature, mean
from verdict.lineage.propagate import propagate
from verdict.lineage.reference import Partner, Reference, reference
from verdict.lineage.resumed import resumed
from verdict.lineage.transfer import Claim, Member
from verdict.lineage.values import Shard, Share, Value

__all__ = [
    "CHUNK_ORDER",
    "INITIAL_STATE",
    "INPUT_RANGES",
    "Binding",
    "Claim",
    "Evidence",
    "Gap",
    "IgnoredLaw",
    "Law",
    "Lineages",
    "LinearLaw",
    "Meaning",
    "Member",
    "Partner",
    "Place",
    "Reference",
    "Shard",
    "Share",
    "Signature",
    "SumLaw",
    "Unstated",
    "Value",
    "bind",
    "join",
    "join_region",
    "mean",
    "propagate",
    "reference",
    "resumed",
    "split",
    "split_region",
]
