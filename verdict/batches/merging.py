"""Results of shards, put together: the result of the whole list, or why it is none."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from verdict.errors import UsageError
from verdict.report.many import VERSION, Header, Standing, many_data

REMEDY = "make it with --shard PART/OF --output json:FILE"


def merged(paths: Sequence[str]) -> dict[str, Any]:
    """The data of the whole list, made of the files of all its shards, in any order.

    Raises UsageError where one is no result, is of another list or version, is there twice, or is missing.
    """
    results = [_read(path) for path in paths]
    fingerprint, length, of = _list(results[0])
    seen: dict[int, str] = {}
    for path, result in zip(paths, results, strict=True):
        if _list(result) != (fingerprint, length, of):
            problem = f"it is of another list, cut or version of Verdict than {paths[0]}"
            raise UsageError(path, problem, "run all shards on the same list, options and version")
        part = result["shard"]["part"]
        if part in seen:
            raise UsageError(path, f"it is shard {part} of {of}, as {seen[part]} is", "give each shard once")
        seen[part] = path
    missing = [part for part in range(1, of + 1) if part not in seen]
    if missing:
        raise UsageError("merge", f"shard {missing[0]} of {of} is missing", "give the results of all shards")
    entries = [entry for result in results for entry in result["cases"]]
    unused = set.intersection(*(set(result["unused_assumptions"]) for result in results))
    return many_data(Header(fingerprint, length, (1, 1), tuple(sorted(unused))), entries)


def _list(result: Mapping[str, Any]) -> tuple[str, int, int]:
    return result["list"]["fingerprint"], result["list"]["length"], result["shard"]["of"]


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    except OSError as error:
        raise UsageError(path, f"the result cannot be read: {error.strerror}", "is the path right?") from None
    except (ValueError, RecursionError):
        raise UsageError(path, "it is no JSON result", REMEDY) from None
    problem = _problem(result)
    if problem:
        raise UsageError(path, problem, REMEDY)
    return result  # type: ignore[no-any-return]


def _problem(result: Any) -> str:
    """What is wrong with a result; "" where it is one, and has the cases that its shard must have."""
    if not isinstance(result, dict) or result.get("version") != VERSION or "cases" not in result:
        return f"it is no result of a list, of version {VERSION}"
    try:
        part, of, length = result["shard"]["part"], result["shard"]["of"], result["list"]["length"]
        numbers = [entry["number"] for entry in result["cases"]]
        fine = all(_is_case(entry) for entry in result["cases"]) and isinstance(result["list"]["fingerprint"], str)
        fine &= all(isinstance(name, str) for name in result["unused_assumptions"])
        whole = numbers == list(range(length))[part - 1 :: of] and 1 <= part <= of
    except (KeyError, TypeError, ValueError):
        return "it lacks what a result has"
    if not fine:
        return "it lacks what a result has"
    return "" if whole else "it does not hold the cases of its shard"


def _is_case(entry: Mapping[str, Any]) -> bool:
    """Whether this is a case, and its report says what the case does."""
    report = entry["report"]
    told = entry["verdict"] if report is None else report["verdict"]
    texts = isinstance(entry["name"], str) and isinstance(entry["headline"], str)
    standing = entry["verdict"] in Standing.__members__ and (report is not None or told != Standing.PROVED.name)
    return texts and standing and told == entry["verdict"] and isinstance(entry["seconds"], int | float)
