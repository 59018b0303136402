"""Which parallel tensors rebuild which single-device tensor."""

from verdict.lineage.binding import INITIAL_STATE, Binding, bind
from verdict.lineage.holdings import CHUNK_ORDER
from verdict.lineage.indexing import join, join_region, split, split_region
from verdict.lineage.lineages import Gap, Law, Lineages, LinearLaw, Place, SumLaw
from verdict.lineage.propagate import propagate
from verdict.lineage.reference import Meaning, Partner, Reference, Signature, mean, reference
from verdict.lineage.transfer import Claim, Member
from verdict.lineage.values import Share, Value

__all__ = [
    "CHUNK_ORDER",
    "INITIAL_STATE",
    "Binding",
    "Claim",
    "Gap",
    "Law",
    "Lineages",
    "LinearLaw",
    "Meaning",
    "Member",
    "Partner",
    "Place",
    "Reference",
    "Share",
    "Signature",
    "SumLaw",
    "Value",
    "bind",
    "join",
    "join_region",
    "mean",
    "propagate",
    "reference",
    "split",
    "split_region",
]
