"""The IR after each pass as data of a page: texts, changes, and the lines of layers."""

from dataclasses import replace
from pathlib import Path

from npu_tools.compiling.driver import Job, compile_model
from npu_tools.pages.c_text import c_data
from npu_tools.pages.ir_steps import IrStep, IrSteps, clipped, spans, unquoted


def steps_of(path: Path) -> tuple[IrSteps, list[str]]:
    """The steps of a network, and all lines."""
    found = IrSteps()
    compile_model(Job(path, "fe310", observers=(found,)))
    return found, list(found.lines)


def changed(before: IrStep, after: IrStep, lines: list[str]) -> list[str]:
    """The text of a step, made from the one before and the changes."""
    text, at = list[str](), 0
    for first, last, start, end in after.changes:
        text += [lines[line] for line in before.text[at:first]]
        text += [lines[line] for line in after.text[start:end]]
        at = last
    return text + [lines[line] for line in before.text[at:]]


def test_changes_lead_from_step_to_step(small: Path) -> None:
    found, lines = steps_of(small)
    names = [step.name for step in found.steps]
    assert names[0] == "import"
    assert {"npu-bufferize", "npu-lower-to-loops"} <= set(names)
    plain = {text: lines[found.keys[place]] for text, place in found.lines.items()}
    for before, after in zip(found.steps, found.steps[1:], strict=False):
        made = [plain[line] for line in changed(before, after, lines)]
        assert made == [plain[lines[line]] for line in after.text], after.name
    fused = next(step for step in found.steps if step.name == "npu-fuse-conv-relu-pool")
    added, gone = fused.counts
    assert 0 < added < gone


def test_equal_texts_are_stored_once(small: Path) -> None:
    found, _ = steps_of(small)
    data = found.data()
    for step, stored in zip(found.steps, data["steps"], strict=True):
        assert (stored["text"] is None) == (not step.changes and step.name != "import")


def test_renumbered_lines_are_no_change() -> None:
    found = IrSteps()
    one = [found.place(line) for line in ("%0 = a", "%part_1 = b", "%x = c")]
    two = [found.place(line) for line in ("%7 = a", "%part_2 = b", "%y = c")]
    assert list(found.changes(one, two)) == [(2, 3, 2, 3)]


def test_each_layer_is_found_in_each_text(small: Path) -> None:
    found, lines = steps_of(small)
    for step in found.steps:
        if step.name == "npu-fuse-conv-relu-pool":
            [(first, last)] = step.layers["conv1"]
            assert [
                lines[line].split(" = ")[1].split()[0] for line in step.text[first : last + 1]
            ] == [
                "arith.constant",
                "arith.constant",
                "npu.conv2d",
            ]
        if step.name == "npu-assign-sram-offsets":
            found_at = [at for a, b in step.layers["conv1"] for at in range(a, b + 1)]
            assert any("%p1 = sram.alloc at " in lines[step.text[at]] for at in found_at)
            assert not any("%r2 = " in lines[step.text[at]] for at in found_at)
    lowered = next(step for step in found.steps if step.name == "npu-lower-to-loops")
    text = [
        lines[line]
        for first, last in lowered.layers["conv1"]
        for line in lowered.text[first : last + 1]
    ]
    assert any("func.func private @conv1" in line for line in text)
    assert any("scf.for" in line for line in text)
    assert any("func.call @conv1" in line for line in text)
    assert not any("@dense2" in line for line in text)


def test_layers_in_c(small: Path) -> None:
    compiled = compile_model(Job(small, "fe310"))
    names = [layer.name for layer in compiled.report.layers]
    data = c_data(compiled.files, compiled.name, names)
    assert data["name"] == "net.c"
    lines = data["text"].split("\n")
    assert list(data["layers"]) == ["conv1", "dense2", "dense3"]
    text = [lines[at] for first, last in data["layers"]["conv1"] for at in range(first, last + 1)]
    assert text[0].startswith("/* conv1: npu.conv2d")
    assert any("net_conv1(" in line for line in text)
    assert not any("dense2" in line for line in text)
    source = compiled.files["net.c"]
    assert isinstance(source, str)
    assert "more lines of numbers" in data["text"]
    assert len(lines) < len(source.splitlines())


def test_no_c_no_data(small: Path) -> None:
    compiled = compile_model(replace(Job(small, "fe310"), plan_as="i8"))
    assert c_data(compiled.files, compiled.name, []) == {}


def test_texts() -> None:
    assert unquoted(r'"a\"b\\c"') == 'a"b\\c'
    assert spans({3, 4, 5, 9}) == ((3, 5), (9, 9))
    assert clipped("x" * 5000).startswith("x" * 1000 + " \u2026 ")
