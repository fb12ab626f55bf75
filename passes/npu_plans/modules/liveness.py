"""Turns a module (`module_data`) into steps over pieces of memory (`live_orders`), layer by layer.

    module concat of x                       pieces: x, a, b, c
      branch part 1: a = conv x, b = conv a  steps: 0 reads x, makes a; 1 reads a, makes b
      branch part 0: c = conv x                     2 reads x, makes c
                                             b and c outlive them: they are the MOFM

These rules count bytes exactly; the planner of paper 001 counts more:

* The MIFM dies with its last reader, unless a layer after the module reads it.
* The MOFM of a concatenation is filled slice by slice. The bytes from the first filled slice to the
  last one are in use. A branch that is the MIFM itself costs nothing. If the MIFM or another part
  occurs more than once in the MOFM, each further occurrence is a copy.
* A sum may overwrite a map that dies there, as any element-wise layer may.
* Besides its maps, a layer needs its working memory and the weights of the kernels that run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npu_plans.modules.live_orders import Group, Work, WorkStep
from npu_plans.modules.module_data import Branch, FeatureMap, Layer, Module


@dataclass(frozen=True)
class LiveModule:
    """A module as steps over pieces, and its branches, those of nested modules included."""

    work: Work
    group: Group


def live_module(module: Module, *, input_outlives: bool, tails: bool = False) -> LiveModule:
    """The steps of a module.

    `input_outlives`: whether a layer after the module reads its MIFM. `tails`: whether
    `npu-fuse-tails` will run.
    """
    builder = Builder(module if tails else None)
    source = builder.piece(module.input.size.full)
    builder.places[module.input] = source
    group = builder.module(module)
    kept = builder.places[module.result] | (source if input_outlives else 0)
    rows = (builder.row(module),) if module.merge == "concat" else ()
    return LiveModule(Work(tuple(builder.sizes), tuple(builder.steps), kept, rows), group)


@dataclass
class Builder:
    """Steps under construction; `places` gives for each map the set of its pieces.

    `outer` is the module whose last layers `npu-fuse-tails` will run row by row; None if it will
    not run.
    """

    outer: Module | None = None
    sizes: list[int] = field(default_factory=list[int])
    steps: list[WorkStep] = field(default_factory=list[WorkStep])
    places: dict[FeatureMap, int] = field(default_factory=dict[FeatureMap, int])

    def piece(self, size: int) -> int:
        """Add a piece of `size` bytes; returns it as a set of one."""
        self.sizes.append(size)
        return 1 << (len(self.sizes) - 1)

    def step(
        self,
        reads: int,
        size: int,
        extra: int = 0,
        overwrites: tuple[int, ...] = (),
        extra_in_place: int | None = None,
    ) -> tuple[int, int]:
        """Add a step whose result has `size` bytes; returns its number and the set of its piece."""
        made = self.piece(size)
        self.steps.append(WorkStep(reads, made.bit_length() - 1, extra, overwrites, extra_in_place))
        return len(self.steps) - 1, made

    def module(self, module: Module) -> Group:
        """The steps of a module, branches in execution order, then the merge."""
        branches = tuple(self.branch(module, branch) for branch in module.branches)
        parts = module.parts()
        tail = self.add(module, parts) if module.merge == "add" else self.concat(module, parts)
        return Group(branches, tail)

    def branch(self, module: Module, branch: Branch) -> tuple[int | Group, ...]:
        """The steps of a branch; an average pool and its 1x1 convolution are one if they fuse."""
        found: list[int | Group] = []
        steps = list(branch.steps)
        while steps:
            step = steps.pop(0)
            last = steps[0] if steps else None
            if self.outer is not None and isinstance(step, Layer) and isinstance(last, Layer):
                gain = step.result.size.full > last.parameters
                if step.tail == "average" and last.tail == "pointwise" and gain:
                    steps.pop(0)
                    rows = step.rows + last.rows + last.parameters
                    found.append(self.tail(module, branch, step, last, rows, rows))
                    continue
            if isinstance(step, Layer) and self.takes_place(module, branch, step):
                rows = step.rows + step.parameters
                found.append(
                    self.tail(module, branch, step, step, step.working + step.weights, rows)
                )
            else:
                found.append(self.item(step))
        return tuple(found)

    def takes_place(self, module: Module, branch: Branch, step: Layer) -> bool:
        """Whether a layer may overwrite the MIFM row by row."""
        return (
            module is self.outer
            and module.merge == "concat"
            and branch.steps[-1] is step
            and branch.part in (0, len(module.branches) - 1)
            and step.tail == "pointwise"
            and step.parameters < step.result.size.full
        )

    def tail(
        self, module: Module, branch: Branch, first: Layer, last: Layer, extra: int, rows: int
    ) -> int:
        """Add one step for the layers `first` to `last`; it may overwrite the MIFM that it reads.

        `extra`: its other bytes beside the maps; `rows`: those if it runs row by row in place.
        """
        (source,) = first.reads
        place = self.places[source]
        takes = source == module.input and self.takes_place(module, branch, last)
        number, self.places[last.result] = self.step(
            place, last.result.size.full, extra, (place,) if takes else (), rows
        )
        return number

    def item(self, step: Layer | Module) -> int | Group:
        """Add a layer or a nested module of a branch."""
        if isinstance(step, Module):
            return self.module(step)
        sources = [self.places[each] for each in dict.fromkeys(step.reads)]
        reads = 0
        for source in sources:
            reads |= source
        number, self.places[step.result] = self.step(
            reads,
            step.result.size.full,
            step.working + step.weights,
            tuple(sources) if step.elementwise else (),
        )
        return number

    def concat(self, module: Module, parts: tuple[Branch, ...]) -> tuple[int, ...]:
        """Merge the parts of a concatenation; returns the steps that copy parts which come twice.

        All other parts already lie in their place.
        """
        whole, copies = 0, list[int]()
        for branch in parts:
            place = self.places[branch.result]
            if place & whole:
                number, place = self.step(place, branch.result.size.full)
                copies.append(number)
            whole |= place
        self.places[module.result] = whole
        return tuple(copies)

    def row(self, module: Module) -> tuple[int, ...]:
        """The pieces of a concatenation in the order in which they lie in memory, each once."""
        found: list[int] = []
        for branch in module.parts():
            last = branch.steps[-1] if branch.steps else None
            if isinstance(last, Module) and last.merge == "concat":
                found += self.row(last)
            else:
                found.append(self.places[branch.result].bit_length() - 1)
        return tuple(dict.fromkeys(found))

    def add(self, module: Module, parts: tuple[Branch, ...]) -> tuple[int, ...]:
        """Add up the parts two at a time; returns the steps."""
        layers: list[int] = []
        total = self.places[parts[0].result]
        for branch in parts[1:]:
            other = self.places[branch.result]
            number, total = self.step(
                total | other, module.result.size.full, overwrites=(total, other)
            )
            layers.append(number)
        self.places[module.result] = total
        return tuple(layers)
