"""Algorithms 3, 5 and 6 of paper 001, on plain data: branch order, occupied MOFM, forwarding.

For layer k of branch b, size_avail(b,k) = size_mem - sum of size_mifm(k,m) - size_occu(b), and
size_req(b,k) = IFM + OFM.Full + WM.Partial + W.Partial, where IFM is Full if the layer before has
forwarded it, else Partial. The layer forwards its OFM if size_req <= size_avail. Under policy II
size_occu is 0, and the last layer of a branch sends its OFM off chip (OFM.Partial).

The paper does not say the following; here

* an IFM that is a MIFM on chip adds nothing to size_req;
* a layer that does not forward its OFM holds OFM.Partial;
* maps of a branch that a later layer reads (a branch need not be a chain) are held on chip as well;
* if a layer does not fit, the maps that its branch holds on chip are spilled, the largest first;
* a sum occupies one MOFM, however many branches have been added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from npu_plans.modules.module_data import Branch, FeatureMap, Layer, Module, Policy


@dataclass(frozen=True)
class Room:
    """What the SRAM of `capacity` bytes holds besides the current layer; sizes in bytes.

    `mifms`: the MIFMs of all modules around the layer. `occupied`: the filled part of the MOFM.
    `held`: other maps of branches that a later layer reads. `on_chip`: which maps those MIFMs are.
    """

    capacity: int
    mifms: int = 0
    occupied: int = 0
    held: int = 0
    on_chip: frozenset[FeatureMap] = frozenset()

    @property
    def available(self) -> int:
        """size_avail: the bytes that MIFMs and the occupied MOFM leave free."""
        return self.capacity - self.mifms - self.occupied

    def with_mifm(self, mifm: FeatureMap) -> Room:
        """The room inside a module with this MIFM on chip."""
        if mifm in self.on_chip:
            return self
        return replace(self, mifms=self.mifms + mifm.size.full, on_chip=self.on_chip | {mifm})


@dataclass(frozen=True)
class LayerPlan:
    """size_req, size_avail and fwd of a layer (Algorithm 6), in bytes.

    `passes`: in how many passes over its output channels it runs.
    """

    required: int
    available: int
    forward: bool
    passes: int = 1

    @property
    def is_forwarded(self) -> bool:
        """Whether the OFM stays on chip; the name is that of the other plans."""
        return self.forward


@dataclass(frozen=True)
class BranchPlan:
    """The policy of a branch, its size_occu in bytes (Algorithm 5), and the plans of its steps."""

    policy: Policy
    occupied: int
    steps: tuple[LayerPlan | ModulePlan, ...]

    @property
    def is_forwarded(self) -> bool:
        """Whether no map of the branch leaves the chip."""
        return all(step.is_forwarded for step in self.steps)

    @property
    def stays(self) -> bool:
        """Whether the branch's part of the MOFM is on chip at its end."""
        return not self.steps or self.steps[-1].forward


@dataclass(frozen=True)
class ModulePlan:
    """The policy of a module and the plans of its branches; `kept`: whether its MIFM is on chip."""

    policy: Policy
    kept: bool
    branches: tuple[BranchPlan, ...]

    @property
    def forward(self) -> bool:
        """Whether the whole MOFM is on chip, for a module that is a step of a branch."""
        return self.policy == "I" and all(branch.stays for branch in self.branches)

    @property
    def is_forwarded(self) -> bool:
        """Whether no map of the module leaves the chip."""
        return self.kept and all(branch.is_forwarded for branch in self.branches)

    def layers(self) -> Iterator[LayerPlan]:
        """The plans of all layers, in execution order."""
        for branch in self.branches:
            for step in branch.steps:
                if isinstance(step, ModulePlan):
                    yield from step.layers()
                else:
                    yield step


@dataclass
class Misfit(Exception):
    """A layer does not fit into the SRAM under any plan; sizes in bytes.

    `live` are the maps that the branch around the layer holds on chip.
    """

    layer: str
    needed: int
    capacity: int
    live: list[FeatureMap] = field(default_factory=list[FeatureMap])


def process_layer(layer: Layer, room: Room, live: Iterable[FeatureMap], leaves: bool) -> LayerPlan:
    """Algorithm 6 for one layer: it forwards its OFM if possible, in as few passes as possible.

    `live`: maps of its branch that are on chip. `leaves`: its OFM must leave the chip.

    Raises: Misfit if the layer does not fit even without forwarding.
    """
    ifm, arrived = 0, True
    for each in dict.fromkeys(layer.reads):
        if each not in room.on_chip:
            arrived = arrived and each in live
            ifm += each.size.full if each in live else each.size.fetched
    # In several passes, a layer would fetch an off-chip IFM again for each pass.
    ways = list(layer.passes())[: None if arrived else 1]
    least = 0
    for forward in (False,) if leaves else (True, False):
        result = layer.result.size.full if forward else layer.result.size.written
        for passes, part in ways:
            required = room.held + ifm + part.working + part.weights + result
            if required <= room.available:
                return LayerPlan(required, room.available, forward, passes)
            least = required
    raise Misfit(layer.name, room.capacity - room.available + least, room.capacity)


def process_nested(
    module: Module, room: Room, live: Iterable[FeatureMap], leaves: bool, policy: Policy | None
) -> ModulePlan:
    """The plan of a module inside a branch.

    `live`: maps of the branch that are on chip. `leaves`: the module's OFM must leave the chip.
    `policy`: the policy of the branch if the module is its last step, else None. Then policy I is
    taken if it forwards all layers, else II.

    Raises: Misfit if some layer does not fit.
    """
    if module.input in live:
        room = room.with_mifm(module.input)
    if policy is not None:
        return process_module(module, policy, room)
    if not leaves:
        try:
            plan = process_module(module, "I", room)
        except Misfit:
            pass
        else:
            if plan.is_forwarded:
                return plan
    return process_module(module, "II", room)


def process_module(module: Module, policy: Policy, room: Room) -> ModulePlan:
    """Algorithms 5 and 6 for all branches of a module.

    `room` already counts the MIFM if that is on chip.

    Raises: Misfit if some layer does not fit.
    """
    branches: list[BranchPlan] = []
    inside = room
    for branch in module.branches:
        branches.append(process_branch(branch, policy, inside))
        if policy == "I":
            inside = replace(inside, occupied=occupied_after(module, branch, room, inside))
    return ModulePlan(policy, module.input in room.on_chip, tuple(branches))


def occupied_after(module: Module, branch: Branch, room: Room, inside: Room) -> int:
    """Algorithm 5: the bytes that the MOFM occupies after a branch.

    `room` is the room before the module, `inside` the room before the branch.
    """
    if module.is_view(branch):
        return inside.occupied
    if module.merge == "add":
        return room.occupied + module.result.size.full
    return inside.occupied + branch.result.size.full


def process_branch(branch: Branch, policy: Policy, room: Room) -> BranchPlan:
    """Algorithm 6 for a branch. As long as a layer does not fit, the largest held map is spilled.

    Raises: Misfit if a layer does not fit with all held maps spilled.
    """
    spilled: frozenset[FeatureMap] = frozenset()
    while True:
        try:
            return BranchPlan(policy, room.occupied, attempt(branch, policy, room, spilled))
        except Misfit as misfit:
            candidates = [each for each in misfit.live if each not in spilled]
            if not candidates:
                raise
            spilled |= {max(candidates, key=lambda each: each.size.full)}


def attempt(
    branch: Branch, policy: Policy, room: Room, spilled: frozenset[FeatureMap]
) -> tuple[LayerPlan | ModulePlan, ...]:
    """Algorithm 6 for a branch in which the maps in `spilled` must leave the chip.

    Raises: Misfit if a layer does not fit; it names the maps that the branch holds then.
    """
    last_read = {each: index for index, step in enumerate(branch.steps) for each in step.reads}
    last_read[branch.result] = len(branch.steps)
    plans: list[LayerPlan | ModulePlan] = []
    kept: list[FeatureMap] = []
    for index, step in enumerate(branch.steps):
        live = [each for each in kept if last_read[each] >= index]
        held = sum(each.size.full for each in live if each not in step.reads)
        inside = replace(room, held=room.held + held)
        ends = step.result == branch.result
        leaves = step.result in spilled or (ends and policy == "II")
        try:
            if isinstance(step, Module):
                plan = process_nested(step, inside, live, leaves, policy if ends else None)
            else:
                plan = process_layer(step, inside, live, leaves)
        except Misfit as misfit:
            raise replace(misfit, live=live) from None
        plans.append(plan)
        if plan.forward and step.result in last_read:
            kept.append(step.result)
    return tuple(plans)


def required_bytes(branch: Branch, on_chip: frozenset[FeatureMap]) -> int:
    """size_req(b) of Algorithm 3: the most bytes that a layer of a branch needs if all forward.

    The MIFMs in `on_chip` and the MOFM do not count. The MIFM of a nested module counts, as the
    branch has to hold it.
    """
    last_read = {each: index for index, step in enumerate(branch.steps) for each in step.reads}
    made: list[FeatureMap] = []
    most = 0
    for index, step in enumerate(branch.steps):
        held = sum(each.size.full for each in made if last_read.get(each, -1) >= index)
        most = max(most, held + needed_at(step, branch, on_chip))
        made.append(step.result)
    return most


def needed_at(step: Layer | Module, branch: Branch, on_chip: frozenset[FeatureMap]) -> int:
    """Bytes that a step adds to what its branch holds; an OFM in the MOFM does not count."""
    own = 0 if step.result == branch.result else step.result.size.full
    if isinstance(step, Layer):
        return own + step.working + step.weights
    inside = on_chip | {step.input}
    return own + max((required_bytes(each, inside) for each in step.branches), default=0)


def branch_order(
    module: Module, on_chip: frozenset[FeatureMap] = frozenset()
) -> tuple[tuple[int, int], ...]:
    """Algorithm 3: (position, size_req in bytes) of the branches, by descending size_req.

    Branches of equal size_req stay in their order; `on_chip` are the MIFMs of outer modules.
    """
    inside = on_chip | {module.input}
    needs = [(index, required_bytes(each, inside)) for index, each in enumerate(module.branches)]
    return tuple(sorted(needs, key=lambda each: -each[1]))
