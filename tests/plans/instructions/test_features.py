"""What a compiled loop executes, counted by kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npu_plans.instructions.code import (
    Access,
    Block,
    Branch,
    Call,
    Carried,
    Compute,
    Copy,
    Fence,
    Function,
    Loop,
    Step,
)
from npu_plans.instructions.costs import CostError, Costs, costs_of, known_cores
from npu_plans.instructions.features import Core, features_of
from npu_plans.instructions.program import program_of
from npu_plans.instructions.unrolling import unrolled
from npu_plans.instructions.zeros import any_zero, rectified_roots, zero_shares

FPU = Core(12, 32, 32, (4350, 2040), 255, "words")
LIBRARY = Core(27, 0, 0, (4095, 4095), 0, "loads")
X, W, Y = 0, 1, 2
"""The arguments of each function here."""
FIRST, ZERO, OFFSET = 10, 11, 12
"""Constants."""
CONSTANTS = {FIRST: "f32 1.0 : f32", ZERO: "f32 0.000000e+00 : f32", OFFSET: "i32 128 : i32"}


def function(*steps: Step, times: float = 1.0) -> Function:
    """A function with these steps."""
    return Function("f", (X, W, Y), Block(steps, times), CONSTANTS)


def load(
    value: int, *terms: tuple[int, int], root: int = X, offset: int = 0, element: str = "f32"
) -> Access:
    """A load of an element."""
    return Access(root, terms, offset, 1 if element == "i8" else 4, element, value, writes=False)


def store(value: int, *terms: tuple[int, int], root: int = Y, element: str = "f32") -> Access:
    """A store of an element."""
    return replace(load(value, *terms, root=root, element=element), writes=True)


def loop(
    index: int, trips: int, *steps: Step, outer: float = 1.0, carried: tuple[Carried, ...] = ()
) -> Loop:
    """A loop that always has so many trips."""
    return Loop(index, range(trips), (), carried, Block(steps, outer * trips))


def dot(trips: int, step: int = 4) -> Function:
    """A sum of products, which a loop carries."""
    product, total = (
        Compute("arith.mulf.f32", (32, 33), 34),
        Compute("arith.addf.f32", (31, 34), 35),
    )
    body = (load(32, (30, step)), load(33, (30, 4), root=W), product, total)
    return function(loop(30, trips, *body, carried=(Carried(FIRST, 31, 35, 36),)), store(36))


def test_products_that_are_added_are_part_of_the_sum() -> None:
    found = features_of(dot(100), FPU)
    assert found["arith.mulf.f32.added"] == found["arith.addf.f32"] == 100
    assert found["load.f32"] == 200
    assert found["trip.inner.fixed"] == 100
    assert found["entry.inner.fixed"] == found["store.f32"] == 1


def test_a_pointer_steps_freely_by_one_element() -> None:
    found = features_of(dot(100), FPU)
    assert found["pointer.step.inner.free"] == 200
    assert "pointer.step.inner.paid" not in found
    assert features_of(dot(100, step=8), FPU)["pointer.step.inner.paid"] == 100
    assert features_of(dot(100), LIBRARY)["pointer.step.inner.paid"] == 200


def test_short_loops_are_unrolled() -> None:
    found = features_of(dot(2), FPU)
    assert not [name for name in found if name.startswith("trip")]
    assert found["load.f32"] == 4
    offsets = [
        s.offset for s in unrolled(dot(2)).body.steps if isinstance(s, Access) and s.root == X
    ]
    assert offsets == [0, 4]
    assert features_of(dot(3), FPU)["trip.inner.fixed"] == 3


def test_the_carried_value_goes_from_copy_to_copy() -> None:
    sums = [s for s in unrolled(dot(2)).body.steps if isinstance(s, Compute) and "addf" in s.kind]
    assert sums[0].operands[0] == FIRST
    assert sums[1].operands[0] == sums[0].result
    (last,) = [s for s in unrolled(dot(2)).body.steps if isinstance(s, Access) and s.writes]
    assert last.value == sums[1].result


def test_what_does_not_change_is_loaded_in_front_of_the_loop() -> None:
    steps = (
        load(31),
        load(32, (30, 4)),
        Compute("arith.addf.f32", (31, 32), 33),
        store(33, (30, 4)),
    )
    found = features_of(function(loop(30, 50, *steps)), FPU)
    assert found["load.f32"] == 1 + 50
    assert found["load.invariant.float"] == 49
    written = features_of(function(loop(30, 50, *steps, store(33, root=X))), FPU)
    assert written["load.f32"] == 100


def test_what_does_not_change_is_computed_in_front_of_the_loop() -> None:
    steps = (load(31), Compute("arith.negf.f32", (31,), 32), store(32, (30, 4)))
    assert features_of(function(loop(30, 50, *steps)), FPU)["arith.negf.f32"] == 1


def test_an_element_is_loaded_again_only_after_a_store() -> None:
    twice = (load(31), load(32), Compute("arith.addf.f32", (31, 32), 33), store(33))
    assert features_of(function(*twice), FPU)["load.again"] == 1
    between = (load(31), store(31, root=X), load(32), store(32))
    assert "load.again" not in features_of(function(*between), FPU)


def test_values_without_register_are_counted_by_kind() -> None:
    values = range(30, 70)
    found = features_of(function(*map(load, values), *map(store, values)), FPU)
    assert "spill.float.store" not in found  # they are all the same element
    found = features_of(
        function(*(load(v, offset=4 * v) for v in values), *(store(v) for v in values)), FPU
    )
    assert found["spill.float.store"] == found["spill.float.load"] == 8


def test_loads_move_to_the_front_up_to_a_fence() -> None:
    pairs = [(load(v, offset=4 * v), store(v)) for v in range(30, 70)]
    steps = [step for pair in pairs for step in pair]
    assert "spill.integer.load" not in features_of(function(*steps), FPU)
    assert features_of(function(*steps), LIBRARY)["spill.integer.load"] > 0
    fenced = [step for pair in pairs for step in (*pair, Fence())]
    assert "spill.integer.load" not in features_of(function(*fenced), LIBRARY)


def word(value: int, offset: int) -> Access:
    """A load of four packed bytes."""
    return replace(load(value, offset=offset, element="i8"), size=4)


def test_words_and_what_unpacks_them_move_to_the_front_up_to_a_fence() -> None:
    """Twelve registers hold two pointers and eight words, but not the sixteen unpacked ones."""
    pairs = [
        (
            word(v, 4 * v),
            Compute("dsp.sxtb16.i32", (v,), v + 50),
            Compute("dsp.sxtb16.i32", (v,), v + 60),
            store(v + 50, element="i32"),
            store(v + 60, element="i32"),
        )
        for v in range(30, 38)
    ]
    steps = [step for pair in pairs for step in pair]
    assert features_of(function(*steps), FPU)["spill.integer.load"] > 0
    fenced = [step for pair in pairs for step in (*pair, Fence())]
    assert "spill.integer.load" not in features_of(function(*fenced), FPU)
    plain = [replace(s, element="i32") if isinstance(s, Access) else s for s in steps]
    assert "spill.integer.load" not in features_of(function(*plain), FPU)


def test_what_is_loaded_in_front_of_a_loop_needs_registers_inside() -> None:
    """Those that find none are stored once, and loaded again in each trip."""
    values = range(31, 71)
    steps = [load(v, offset=4 * v) for v in values] + [store(v, (30, 4)) for v in values]
    found = features_of(function(loop(30, 50, *steps)), FPU)
    assert found["load.f32"] == 40
    assert found["spill.float.entry"] == 40 - 32
    assert found["spill.float.load"] == 50 * (40 - 32)
    assert "spill.float.store" not in found


def test_carried_values_are_counted_by_how_many_they_are() -> None:
    found = features_of(dot(100), FPU)
    assert found["carried.float"] == 1
    assert found["carried.float.0"] == 100


def test_far_offsets_need_a_pointer_more() -> None:
    body = (load(31, (30, 4)), load(32, (30, 4), offset=2040), store(31), store(32))
    assert features_of(function(loop(30, 50, *body)), FPU)["pointer.far"] == 50


def test_bounds_of_a_loop_that_runs_once_are_not_computed() -> None:
    bound = Compute("arith.maxsi.index", (), 31)
    once = Loop(30, None, (31,), (), Block((load(32), store(32)), 1.0))
    found = features_of(function(bound, once), FPU)
    assert "arith.maxsi.index" not in found
    assert not [name for name in found if name.startswith("trip")]
    more = replace(once, body=replace(once.body, times=5.0))
    assert features_of(function(bound, more), FPU)["arith.maxsi.index"] == 1
    assert features_of(function(bound, more), FPU)["trip.inner.varying"] == 5


def test_blocks_that_never_run_count_nothing() -> None:
    side = Block((load(31), store(31)), 0.0)
    found = features_of(function(Branch(20, (side,), ((),), ()), Copy(64)), FPU)
    assert found == {"branch": 1, "copy": 1, "copy.byte": 64}


def rectified(root: int) -> Function:
    """A function that stores the larger one of an element and zero."""
    select = Compute("arith.select.f32", (20, 31, ZERO), 32)
    return function(load(31), select, store(32, root=root))


def test_rectified_maps_are_found() -> None:
    assert rectified_roots(rectified(Y), ()) == {Y: True}
    assert rectified_roots(function(load(31), store(31)), ()) == {Y: False}
    assert rectified_roots(function(load(31), store(31)), (X,)) == {Y: True}


def test_what_follows_from_a_map_with_zeros_has_as_many() -> None:
    scaled = Compute("arith.mulf.f32", (31, FIRST), 32)
    shifted = Compute("arith.addf.f32", (32, FIRST), 33)
    assert zero_shares(function(load(31), scaled, shifted), {X: 0.5}) == {31: 0.5, 32: 0.5, 33: 0.5}
    assert zero_shares(function(load(31), scaled, shifted), {}) == {}
    steps = (load(31, element="i8"), Compute("arith.extsi.i32", (31,), 32))
    steps = (*steps, Compute("arith.addi.i32", (32, OFFSET), 33))
    assert zero_shares(function(*steps), {X: 0.5}) == {33: 0.5}


def test_a_product_is_zero_if_one_factor_is() -> None:
    product = Compute("arith.mulf.f32", (31, 32), 33)
    added = Compute("arith.addf.f32", (34, 33), 35)
    shares = zero_shares(function(load(31), load(32, root=W), product, added), {X: 0.5, W: 0.2})
    assert shares[33] == pytest.approx(0.6)
    assert 35 not in shares  # a sum of many numbers


def test_what_is_rectified_is_zero_half_the_time_or_more() -> None:
    select = Compute("arith.select.f32", (20, 31, ZERO), 32)
    assert zero_shares(function(load(31), select), {}) == {32: 0.5}
    assert zero_shares(function(load(31), select), {X: 0.9})[32] == pytest.approx(0.9)
    assert zero_shares(function(load(31), select), {X: 0.1})[32] == 0.5


def test_values_count_once_where_they_stand_twice() -> None:
    assert any_zero((31, 31), {31: 0.5}) == 0.5
    assert any_zero((31, 32), {31: 0.5, 32: 0.5}) == 0.75
    assert any_zero((), {}) == 0


def test_an_operation_counts_as_one_for_zeros_as_often_as_an_operand_is_zero() -> None:
    product = Compute("arith.mulf.f32", (31, 32), 33)
    added = Compute("arith.addf.f32", (34, 33), 35)
    steps = (load(31), load(32, root=W), product, added, store(35))
    found = features_of(function(*steps, times=100.0), LIBRARY, {X: 0.3})
    assert found["arith.mulf.f32.zero"] == found["arith.addf.f32.zero"] == pytest.approx(30)
    assert found["arith.mulf.f32.added"] == found["arith.addf.f32"] == pytest.approx(70)
    always = features_of(function(*steps), LIBRARY, {X: 1.0})
    assert "arith.mulf.f32.added" not in always


def test_an_fpu_computes_as_fast_with_zeros() -> None:
    steps = (load(31), Compute("arith.addf.f32", (31, FIRST), 32), store(32))
    assert features_of(function(*steps), FPU, {X: 0.3}) == features_of(function(*steps), FPU)


def test_layers_are_counted_as_often_as_they_run() -> None:
    calls = loop(30, 3, Call("f", (50, 51, 52), 0))
    net = Function("net", (), Block((load(31), store(31), calls), 1.0), {})
    program = program_of({"net": net, "f": rectified(Y)}, ["net"], FPU)
    assert program.layers[0]["store.f32"] == program.layers[0]["call"] == 3
    assert program.layers[0]["call.argument"] == 9
    assert program.between["store.f32"] == program.start["store.f32"] == 1


SCALED = Compute("arith.mulf.f32", (31, FIRST), 32)
SECOND = replace(function(load(31), SCALED, store(32)), name="g")
"""A layer that multiplies what it reads."""
FUNCTIONS = {"f": rectified(Y), "g": SECOND}


def products(*calls: Call) -> tuple[float, float]:
    """The products of the second layer of a program: all others, and those with a zero."""
    net = Function("net", (), Block(calls, 1.0), {})
    found = program_of({"net": net, **FUNCTIONS}, ["net"], LIBRARY).layers[1]
    return found.get("arith.mulf.f32", 0), found.get("arith.mulf.f32.zero", 0)


def test_a_layer_knows_that_the_one_before_it_rectified() -> None:
    calls = (Call("f", (50, 51, 52), 0), Call("g", (52, 51, 53), 1))
    assert products(*calls) == (0.5, 0.5)
    assert products(calls[1]) == (1, 0)


def test_a_measured_share_of_zeros_counts_instead() -> None:
    first = Call("f", (50, 51, 52), 0)
    assert products(first, Call("g", (52, 51, 53), 1, (0.25, 0.0, 0.0))) == (0.75, 0.25)
    assert products(first, Call("g", (52, 51, 53), 1, (0.0,))) == (1, 0)
    assert products(first, Call("g", (52, 51, 53), 1, ())) == (1, 0)


def test_ordered_loads_leave_more_registers() -> None:
    """gcc keeps some for what it loads next, but not where loads keep their order."""
    core = replace(FPU, float_registers=2)
    single = [load(31 + each, offset=4 * each) for each in range(3)]
    ordered = [single[0], *(Compute("dsp.load_floats.f32", (31,), 31 + each) for each in (1, 2))]
    sums = (
        Compute("arith.addf.f32", (31, 32), 34),
        Compute("arith.addf.f32", (34, 33), 35),
        store(35),
    )

    def spills(*steps: Step) -> list[str]:
        return [name for name in features_of(function(*steps, *sums), core) if "spill" in name]

    assert spills(*single)
    assert not spills(*ordered)


def test_costs() -> None:
    costs = Costs(FPU, {"load.f32": 2.0}, 0.5)
    assert costs.instructions({"load.f32": 10, "unknown": 4}) == 22
    assert costs_of("cortex-m4").core == Core(12, 26, 31, (4350, 2040), 255, "words")
    assert {"cortex-m4", "fe310"} <= set(known_cores())
    with pytest.raises(CostError, match="no costs of instructions for 'z80'"):
        costs_of("z80")
