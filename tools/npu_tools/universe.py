"""The `xdsl.universe` plug-in: all dialects, passes and targets, for npu-opt and plain xdsl-opt.

Every entry is a function that imports its object when it is called. A tool can so list all names
without importing anything.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

DIALECTS = {
    "dma": "npu_dialect.dma:DMA",
    "dram": "npu_dialect.dram:DRAM",
    "dsp": "npu_dialect.dsp:DSP",
    "mve": "npu_dialect.mve:MVE",
    "npu": "npu_dialect.npu:NPU",
    "pl330": "npu_dialect.pl330:PL330",
    "sram": "npu_dialect.sram:SRAM",
}

PASSES = {
    "convert-linalg-to-npu": "npu_passes.conversion.convert_linalg_to_npu:ConvertLinalgToNpuPass",
    "convert-tosa-to-npu": "npu_passes.conversion.convert_tosa_to_npu:ConvertTosaToNpuPass",
    "npu-assign-dram-offsets": "npu_passes.placing.assign_dram_offsets:AssignDramOffsetsPass",
    "npu-assign-memories": "npu_passes.placing.assign_memories:AssignMemoriesPass",
    "npu-assign-sram-offsets": "npu_passes.placing.assign_sram_offsets:AssignSramOffsetsPass",
    "npu-attach-target": "npu_passes.graph.attach_target:AttachTargetPass",
    "npu-bufferize": "npu_passes.buffers.bufferize:BufferizePass",
    "npu-compress-spills": "npu_passes.zero_blocks.compress_spills:CompressSpillsPass",
    "npu-choose-layouts": "npu_passes.buffers.choose_layouts:ChooseLayoutsPass",
    "npu-concat-in-place": "npu_passes.buffers.concat_in_place:ConcatInPlacePass",
    "npu-detect-modules": "npu_passes.modules.detect_modules:DetectModulesPass",
    "npu-check-overlays": "npu_passes.overlap.check_overlays:CheckOverlaysPass",
    "npu-choose-flash": "npu_passes.overlap.choose_flash:ChooseFlashPass",
    "npu-choose-kernels": "npu_passes.overlap.choose_kernels:ChooseKernelsPass",
    "npu-double-buffer": "npu_passes.overlap.double_buffer:DoubleBufferPass",
    "npu-unroll-loops": "npu_passes.overlap.unroll_loops:UnrollLoopsPass",
    "npu-overlap-rows": "npu_passes.overlap.overlap_rows:OverlapRowsPass",
    "npu-estimate-time": "npu_passes.overlap.estimate_time:EstimateTimePass",
    "npu-estimate-instructions": (
        "npu_passes.lowering.estimate_instructions:EstimateInstructionsPass"
    ),
    "npu-fold-batch-norm": "npu_passes.graph.fold_batch_norm:FoldBatchNormPass",
    "npu-fold-picks": "npu_passes.graph.fold_picks:FoldPicksPass",
    "npu-fold-zero-points": "npu_passes.graph.fold_zero_points:FoldZeroPointsPass",
    "npu-fuse-activations": "npu_passes.graph.fuse_activations:FuseActivationsPass",
    "npu-fuse-additions": "npu_passes.graph.fuse_additions:FuseAdditionsPass",
    "npu-fuse-conv-relu-pool": "npu_passes.graph.fuse_conv_relu_pool:FuseConvReluPoolPass",
    "npu-fuse-normalizations": ("npu_passes.graph.fuse_normalizations:FuseNormalizationsPass"),
    "npu-fuse-regions": "npu_passes.rows.fuse_regions:FuseRegionsPass",
    "npu-fuse-rows": "npu_passes.rows.fuse_rows:FuseRowsPass",
    "npu-fuse-tails": "npu_passes.rows.fuse_tails:FuseTailsPass",
    "npu-fuse-zero-blocks": "npu_passes.zero_blocks.fuse_zero_blocks:FuseZeroBlocksPass",
    "npu-inline-modules": "npu_passes.modules.inline_modules:InlineModulesPass",
    "npu-integer-io": "npu_passes.graph.integer_io:IntegerIoPass",
    "npu-keep-state": "npu_passes.graph.keep_state:KeepStatePass",
    "npu-keep-maps": "npu_passes.spilling.keep_maps:KeepMapsPass",
    "npu-gather-readers": "npu_passes.spilling.gather_readers:GatherReadersPass",
    "npu-keep-parts": "npu_passes.spilling.keep_parts:KeepPartsPass",
    "npu-keep-constants": "npu_passes.placing.keep_constants:KeepConstantsPass",
    "npu-lower-dma-to-pl330": "npu_passes.pl330.lower_dma_to_pl330:LowerDmaToPl330Pass",
    "npu-lower-to-loops": "npu_passes.lowering.lower_to_loops:LowerToLoopsPass",
    "npu-mark-work": "npu_passes.overlap.mark_work:MarkWorkPass",
    "npu-measure-zero-blocks": ("npu_passes.zero_blocks.measure_zero_blocks:MeasureZeroBlocksPass"),
    "npu-measure-zeros": "npu_passes.lowering.measure_zeros:MeasureZerosPass",
    "npu-merge-layers": "npu_passes.graph.merge_layers:MergeLayersPass",
    "npu-move-maps": "npu_passes.buffers.move_maps:MoveMapsPass",
    "npu-outline-layers": "npu_passes.lowering.outline_layers:OutlineLayersPass",
    "npu-outline-rows": "npu_passes.lowering.outline_rows:OutlineRowsPass",
    "npu-overlay-maps": "npu_passes.overlap.overlay_maps:OverlayMapsPass",
    "npu-place-weights": "npu_passes.buffers.place_weights:PlaceWeightsPass",
    "npu-plan-as": "npu_passes.graph.plan_as:PlanAsPass",
    "npu-prefetch": "npu_passes.overlap.prefetch:PrefetchPass",
    "npu-plan-modules": "npu_passes.modules.plan_modules:PlanModulesPass",
    "npu-prune-zero-blocks": "npu_passes.zero_blocks.prune_zero_blocks:PruneZeroBlocksPass",
    "npu-order-layers": "npu_passes.modules.order_layers:OrderLayersPass",
    "npu-reorder-branches": "npu_passes.modules.reorder_branches:ReorderBranchesPass",
    "npu-requantize-mode": "npu_passes.graph.requantize_mode:RequantizeModePass",
    "npu-share-constants": "npu_passes.lowering.share_constants:ShareConstantsPass",
    "npu-share-functions": "npu_passes.lowering.share_functions:ShareFunctionsPass",
    "npu-split-conv-transpose": ("npu_passes.graph.split_conv_transpose:SplitConvTransposePass"),
    "npu-split-lives": "npu_passes.spilling.split_lives:SplitLivesPass",
    "npu-slide-maps": "npu_passes.spilling.slide_maps:SlideMapsPass",
    "npu-spill-maps": "npu_passes.spilling.spill_maps:SpillMapsPass",
    "npu-spill-pruned-maps": "npu_passes.zero_blocks.spill_pruned_maps:SpillPrunedMapsPass",
    "npu-split-stream": "npu_passes.lowering.split_stream:SplitStreamPass",
    "npu-split-layers": "npu_passes.overlap.split_layers:SplitLayersPass",
    "npu-split-transfers": "npu_passes.overlap.split_transfers:SplitTransfersPass",
    "npu-store-constants": "npu_passes.placing.store_constants:StoreConstantsPass",
    "npu-stream-input": "npu_passes.graph.stream_input:StreamInputPass",
    "npu-tile-slow-maps": "npu_passes.tiling.tile_slow_maps:TileSlowMapsPass",
    "npu-tile-loops": "npu_passes.tiling.tile_loops:TileLoopsPass",
    "npu-relayout-inputs": "npu_passes.overlap.relayout_inputs:RelayoutInputsPass",
    "npu-reorder-inputs": "npu_passes.overlap.reorder_inputs:ReorderInputsPass",
    "npu-to-upstream": "npu_passes.emit.upstream.to_upstream:ToUpstreamPass",
    "npu-transpose-in-place": "npu_passes.buffers.transpose_in_place:TransposeInPlacePass",
    "npu-turn-layers": "npu_passes.overlap.turn_layers:TurnLayersPass",
    "npu-use-flash": "npu_passes.graph.use_flash:UseFlashPass",
    "npu-verify-attributes": "npu_passes.support.verify_attributes:VerifyAttributesPass",
    "pl330-check": "npu_passes.pl330.check:Pl330CheckPass",
}

TARGETS = {
    "c": "npu_passes.emit.c.target:CTarget",
    "pl330-asm": "npu_passes.emit.pl330.target:Pl330AsmTarget",
    "pl330-c": "npu_passes.emit.pl330.tables:Pl330CTarget",
    "pl330-hex": "npu_passes.emit.pl330.target:Pl330HexTarget",
}


def lazy(place: str) -> Callable[[], Any]:
    """A function that imports and returns an object; `place` is `module:name`."""
    module, name = place.split(":")
    return lambda: getattr(import_module(module), name)


def factories(places: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """A lazy factory for each entry of a table from names to places, see `lazy`."""
    return {name: lazy(place) for name, place in places.items()}


NPU_UNIVERSE = Universe(
    all_dialects=factories(DIALECTS),
    all_passes=factories(PASSES),
    all_targets=factories(TARGETS),
)
