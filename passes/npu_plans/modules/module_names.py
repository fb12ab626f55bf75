"""Names modules by the common beginning of their layers' names.

inception_a1/branch1x1, inception_a1/pool, inception_a1/concat    ->  inception_a1
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

SEPARATED = re.compile(r"(.+)[/._:-]")
"""Matches up to the last separator of a text; group 1 is what stands before it."""


def common_name(names: Iterable[str]) -> str | None:
    """The longest common beginning of several names up to a separator; None if there is none."""
    # Append a separator, as the name of the module may be the whole name of a layer.
    texts = [f"{name}/" for name in names]
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))
    match = SEPARATED.match("".join(letter for letter, _ in pairs))
    return match[1] if match else None


def module_names(
    layers: Mapping[int, Sequence[str]], members: Mapping[int, Collection[int]]
) -> dict[int, str]:
    """A unique name for each module that can have one, by the number of its merge.

    `layers` are the names of a module's layers, including its merge; `members` are the numbers of
    its nodes. A module gets no name if an outer module, another module or a layer has that name.
    """
    wishes = {
        merge: name
        for merge, names in layers.items()
        if len(names) > 1 and (name := common_name(names)) is not None
    }
    around = {
        merge: {wishes.get(outer) for outer, inner in members.items() if merge in inner}
        for merge in wishes
    }
    free = {merge: name for merge, name in wishes.items() if name not in around[merge]}
    taken = Counter(free.values())
    taken.update({name for names in layers.values() for name in names})
    return {merge: name for merge, name in free.items() if taken[name] == 1}
