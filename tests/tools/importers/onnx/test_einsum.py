"""Einsum of one or two maps against onnxruntime."""

from __future__ import annotations

import pytest

from helpers.onnx_models import check, layers, model, node, numbers, rejected

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij->ji", [(2, 3)], ["transpose"]),
        ("ij", [(2, 3)], []),
        ("ji", [(2, 3)], ["transpose"]),
        ("...ij->...ji", [(4, 2, 3)], ["transpose"]),
        ("ij,jk->ik", [(2, 3), (3, 4)], ["matmul"]),
        ("ij,jk", [(2, 3), (3, 4)], ["matmul"]),
        ("bij, bjk -> bik", [(5, 2, 3), (5, 3, 4)], ["matmul"]),
        ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)], ["matmul"]),
        ("bqhd,bkhd->bhqk", [(1, 3, 2, 4), (1, 5, 2, 4)], ["transpose", "transpose", "matmul"]),
        ("bhqk,bkhd->bqhd", [(1, 2, 3, 5), (1, 5, 2, 4)], ["transpose", "matmul", "transpose"]),
        ("...ij,...jk->...ik", [(5, 2, 3), (5, 3, 4)], ["matmul"]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (2, 6, 3, 4)], ["matmul"]),
        ("i,j->ij", [(2,), (3,)], None),
        ("i,i->", [(4,), (4,)], None),
        ("i,i", [(4,), (4,)], None),
        ("ijk,jkl->il", [(2, 3, 4), (3, 4, 5)], None),
        ("ijk,lkj->il", [(2, 3, 4), (5, 4, 3)], None),
        ("bn,anm->abm", [(2, 3), (4, 3, 5)], None),
        ("ab,ab->ab", [(2, 3), (2, 3)], None),
        ("bc...,bcv...->bv...", [(2, 3, 4), (2, 3, 5, 4)], None),
    ],
)
def test_einsum(equation: str, shapes: list[Shape], expected: list[str] | None) -> None:
    names = ["a", "b"][: len(shapes)]
    layer = node("Einsum", " ".join(names), equation=equation)
    maps = dict(zip(names, shapes, strict=True))
    found = layers(check(model([layer], maps)))
    if expected is not None:
        assert [name[4:] for name in found if name != "npu.reshape"] == expected


def test_a_constant_operand() -> None:
    layer = node("Einsum", "a w", equation="bsd,dhk->bhsk")
    check(model([layer], {"a": (1, 3, 6)}, weights={"w": numbers(6, 2, 3)}))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ii->i", [(2, 2)], "term 'ii' repeats an axis"),
        ("ij->i", [(2, 3)], "sums up axes of one map"),
        ("ij,jk->i", [(2, 3), (3, 4)], "no axis that one input only has"),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], "3 inputs; expected 1 or 2"),
    ],
)
def test_rejected(equation: str, shapes: list[Shape], message: str) -> None:
    names = ["a", "b", "c"][: len(shapes)]
    layer = node("Einsum", " ".join(names), equation=equation)
    rejected(model([layer], dict(zip(names, shapes, strict=True))), message)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ij->ijk", [(2, 3)]),
        ("i1->i1", [(2, 3)]),
        ("ijk->i", [(2, 3)]),
        ("ij", [(2, 3), (2, 3)]),
        ("", [(2, 3)]),
        ("->", [(2, 3)]),
        ("i......j->ij", [(2, 3)]),
    ],
)
def test_wrong_equations_are_rejected(equation: str, shapes: list[Shape]) -> None:
    names = ["a", "b"][: len(shapes)]
    layer = node("Einsum", " ".join(names), equation=equation)
    rejected(model([layer], dict(zip(names, shapes, strict=True))))
