"""Names for modules: what the names of their layers begin with.

inception_a1/branch1x1, inception_a1/pool, inception_a1/concat    ->  inception_a1
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import takewhile

SEPARATED = re.compile(r"(.+)[/._:-]")
"""The longest beginning of a text that a separator ends."""


def common_name(names: Iterable[str]) -> str | None:
    """What several names begin with, up to a separator; None if that is nothing."""
    # One more separator: the name of the module may be the whole name of a layer.
    texts = [f"{name}/" for name in names]
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))
    match = SEPARATED.match("".join(letter for letter, _ in pairs))
    return match[1] if match else None


def module_names(
    layers: Mapping[int, Sequence[str]], members: Mapping[int, Collection[int]]
) -> dict[int, str]:
    """A name of its own for each module that can have one, by the number of its merge.

    `layers` are the names of a module's layers, its merge among them; `members` the numbers of its
    nodes. A module with the name of one around it, or of a layer, or of another module, has none.
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
