"""Whether regions are all of a tensor."""

from collections.abc import Collection

from verdict.graph import Region, Shape, volume, whole


def covers(regions: Collection[Region], shape: Shape) -> bool:
    """Whether the regions together are all of a tensor of `shape`; those with other dimensions are none of it."""
    if whole(shape) in regions:
        return True
    remaining = [whole(shape)]
    for region in (region for region in regions if len(region) == len(shape)):
        remaining = [rest for box in remaining for rest in _minus(box, region)]
    return not any(volume(box) for box in remaining)


def _minus(box: Region, hole: Region) -> list[Region]:
    """The parts of `box` outside `hole`."""
    rest: list[Region] = []
    for k, ((start, stop), (begin, end)) in enumerate(zip(box, hole, strict=True)):
        low, high = max(start, begin), min(stop, end)
        if low >= high:
            return [*rest, box]
        if start < low:
            rest.append((*box[:k], (start, low), *box[k + 1 :]))
        if high < stop:
            rest.append((*box[:k], (high, stop), *box[k + 1 :]))
        box = (*box[:k], (low, high), *box[k + 1 :])
    return rest
