"""The memory map as data of a page."""

from npu_tools.pages.answer import layer_of
from npu_tools.pages.memory import map_entry, sharing
from npu_tools.pictures.memory_map import Box, MemoryMap

BOXES = (
    Box("a", "map", 0, 8, 0, 2, "8xi8"),
    Box("b", "map", 8, 8, 1, 3),
    Box("c", "scratch", 4, 8, 2, 2),
    Box("d", "output", 0, 16, 4, 4),
)


def test_boxes_that_share_bytes() -> None:
    assert sharing(BOXES) == [[2], [2], [0, 1], []]


def test_entry_of_the_report() -> None:
    memory = MemoryMap("m", "chip", 64, 16, 16, 2, ("x", "y", "z", "u", "v"), BOXES)
    entry = map_entry(memory)["memory_map"]
    assert (entry["arena"], entry["peak"], entry["steps"]) == (16, 2, ["x", "y", "z", "u", "v"])
    assert entry["boxes"][0] == {
        "name": "a",
        "role": "map",
        "type": "8xi8",
        "offset": 0,
        "size": 8,
        "first": 0,
        "last": 2,
    }
    assert map_entry(None) == {}


def test_layers_of_steps() -> None:
    steps = ("conv1", "load conv1", "store a/b", "first .. last", "load")
    assert [layer_of(step) for step in steps] == ["conv1", "conv1", "a/b", "first", "load"]
