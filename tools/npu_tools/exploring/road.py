"""The programs that one network becomes, kept so that no pass runs twice on the same question.

    import -- fuse -- detect modules -+- plan (SRAM of 96 KB or more) -- bufferize -- ...
                                      +- plan (SRAM of 64 KB)         -- bufferize -- ...

A state is the IR after some passes. An edge is a pass with its options, and what it asked of the
machine (`watching.py`). A machine with the same answers takes the same edge, so that passes which
ask nothing run once for all machines, and those that only compare sizes once for many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from npu_dialect.attributes import TARGET
from npu_dialect.machine import Machine
from npu_dialect.target import TargetAttr, seen_by
from npu_tools.exploring.watching import Seen, Watch
from npu_tools.shared.errors import describe
from npu_tools.shared.installed import context

MOST_OPS = 400_000
"""How many operations all states together may have; an operation takes about 2 KB."""


@dataclass(frozen=True)
class Failure:
    """A pass that has failed, with the diagnostic that npu-compile prints."""

    diagnostic: str


@dataclass(eq=False)
class State:
    """The IR after some passes, of which only the machine changes.

    `names`: those of its operations. `used`: when it was used last, counted in passes.
    """

    module: ModuleOp
    names: tuple[str, ...]
    used: int = 0
    edges: list[Edge] = field(default_factory=list["Edge"])
    answers: list[Answer] = field(default_factory=list["Answer"])

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.names)


@dataclass(eq=False)
class Edge:
    """A pass from a state: its text, what it asked of the machine, and what came out."""

    name: str
    seen: Seen
    end: State | Failure


@dataclass(eq=False)
class Answer:
    """What a function has read from a state: its name, what it asked of the machine, its result."""

    name: str
    seen: Seen
    result: Mapping[str, Any]


class Road:
    """All states of one network; `ran` counts passes that ran, `reused` those that need not."""

    def __init__(self, module: ModuleOp, most: int = MOST_OPS) -> None:
        """Begin with a network, which nothing else may change."""
        self.start = State(module, names_of(module))
        self.alike: dict[tuple[str, ...], list[State]] = {self.start.names: [self.start]}
        self.most = most
        self.clock = self.ran = self.reused = 0

    def follow(
        self, machine: Machine, passes: Sequence[ModulePass]
    ) -> tuple[State | Failure, Seen]:
        """Where passes lead on a machine, and what they asked of it altogether.

        Raises: what a pass raises that is no diagnostic.
        """
        state, seen = self.start, Seen()
        for each in passes:
            name = text_of(each)
            edge = next((e for e in state.edges if e.name == name and e.seen.holds(machine)), None)
            if edge is None:
                edge = self.run(state, each, machine)
                state.edges.append(edge)
                self.ran += 1
            else:
                self.reused += 1
            seen.add(edge.seen)
            if isinstance(edge.end, Failure):
                return edge.end, seen
            state = edge.end
            self.clock += 1
            state.used = self.clock
        self.forget()
        return state, seen

    def run(self, state: State, each: ModulePass, machine: Machine) -> Edge:
        """Run a pass on a copy of a state. If it leads where it led before, that is its end."""
        name = text_of(each)
        module, watch = state.module.clone(), Watch()
        TARGET.set(module, TargetAttr.of(machine))
        try:
            with seen_by(watch):
                each.apply(context(), module)
        except DiagnosticException as error:
            return Edge(name, watch.end(), Failure(describe(error)))
        return Edge(name, watch.end(), self.state_of(module))

    def read(
        self, state: State, machine: Machine, read: Callable[[ModuleOp], Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], Seen]:
        """What a function reads from a state with a machine, and what it asks of the machine."""
        name = read.__name__
        for answer in state.answers:
            if answer.name == name and answer.seen.holds(machine):
                return answer.result, answer.seen
        TARGET.set(state.module, TargetAttr.of(machine))
        watch = Watch()
        with seen_by(watch):
            result = read(state.module)
        state.answers.append(Answer(name, watch.end(), result))
        return result, state.answers[-1].seen

    def state_of(self, module: ModuleOp) -> State:
        """The state with the IR of a module: one that is kept, or a new one.

        So roads join again where passes, or other answers of the machine, have changed nothing.
        """
        names = names_of(module)
        alike = self.alike.setdefault(names, [])
        for state in alike:
            if is_same(state.module, module):
                return state
        alike.append(State(module, names))
        return alike[-1]

    def forget(self) -> None:
        """Drop states if there are too many, those first whose last use is longest ago."""
        total = sum(state.size for kept in self.alike.values() for state in kept)
        while total > self.most:
            kept = [state for states in self.alike.values() for state in states]
            old = min((s for s in kept if s is not self.start), key=lambda s: s.used, default=None)
            if old is None:
                return
            self.alike[old.names].remove(old)
            for state in kept:
                state.edges = [edge for edge in state.edges if edge.end is not old]
            total -= old.size


def text_of(each: ModulePass) -> str:
    """A pass with all its options, as text."""
    return str(each.pipeline_pass_spec(include_default=True))


def is_same(one: ModuleOp, other: ModuleOp) -> bool:
    """Whether two modules with the same names of operations are the same, but for machines."""
    target = TARGET.raw(other)
    assert target is not None
    TARGET.set(one, target)
    return types_of(one) == types_of(other) and one.is_structurally_equivalent(other)


def types_of(module: ModuleOp) -> list[Attribute]:
    """The types of all values of a module, which `is_structurally_equivalent` does not compare."""
    found: list[Attribute] = []
    for op in module.walk():
        found += (result.type for result in op.results)
        found += (each.type for region in op.regions for b in region.blocks for each in b.args)
    return found


def names_of(module: ModuleOp) -> tuple[str, ...]:
    """The names of the operations of a module."""
    return tuple(op.name for op in module.walk())
