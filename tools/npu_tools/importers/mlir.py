"""MLIR text as a model: `npu`, `linalg` or `tosa`, at any stop of the road.

`linalg` and `tosa` become layers here. What a pipeline has done before, it need not do again:
`npu_tools.compiling.resuming` finds that out.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

from npu_dialect.attributes import LEFT, PORT
from npu_dialect.contract import check_attributes
from npu_passes.conversion.convert_linalg_to_npu import ConvertLinalgToNpuPass
from npu_passes.conversion.convert_tosa_to_npu import ConvertTosaToNpuPass
from npu_passes.conversion.foreign import name_of
from npu_passes.support.resources import forget, resolve
from npu_passes.support.safe_text import SafeParser
from npu_tools.shared.errors import UserError
from npu_tools.shared.installed import context


def read_mlir(path: Path) -> tuple[ModuleOp, bool]:
    """Read a module; returns it, and whether numbers of weights were left out of the text.

    Such weights are ones in the module, so that memory can be planned.

    Raises: UserError for text that is no MLIR, or that lists the ops without equivalent among the
    layers; ParseError or DiagnosticException for wrong IR; OSError if the file cannot be read.
    """
    ctx = context()
    module = parse_text(ctx, path, path.read_bytes())
    is_elided = resolve(module, ctx, ones=True) > 0
    verify(path, module)
    check_attributes(module)
    for each in (ConvertLinalgToNpuPass(), ConvertTosaToNpuPass()):
        each.apply(ctx, module)
    check_converted(path, module)
    name_ports(module)
    module.verify()
    return module, is_elided


def parse_text(ctx: Context, path: Path, data: bytes) -> ModuleOp:
    """Parse text.

    Raises: UserError if it is not UTF-8 or malformed; ParseError or DiagnosticException for errors
    that xDSL's parser describes itself.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not MLIR text: byte {error.start} is not UTF-8") from None
    forget(ctx)
    try:
        return SafeParser(ctx, text, str(path)).parse_module()
    except (ParseError, DiagnosticException):
        raise
    except Exception as error:  # xDSL's parser lets Python errors through on malformed text
        raise UserError(f"{path}: malformed MLIR: {type(error).__name__}: {error}") from None


def verify(path: Path, module: ModuleOp) -> None:
    """Verify a module.

    Raises: DiagnosticException for wrong IR; UserError where a verifier of xDSL fails on it.
    """
    try:
        module.verify()
    except DiagnosticException:
        raise
    except Exception as error:  # xDSL's verifiers let Python errors through, too
        raise UserError(f"{path}: malformed MLIR: {type(error).__name__}: {error}") from None


def check_converted(path: Path, module: ModuleOp) -> None:
    """Check that no op of another dialect is left that should be a layer.

    Raises: UserError that lists all of them.
    """
    left = [f"{name_of(op)}: {LEFT.get(op)}" for op in module.walk() if LEFT.is_on(op)]
    if len(left) == 1:
        raise UserError(f"{path}: {left[0]}")
    if left:
        lines = "".join(f"\n  {each}" for each in left)
        raise UserError(f"{path}: {len(left)} ops have no equivalent among the layers:{lines}")


def name_ports(module: ModuleOp) -> None:
    """Name the inputs of public functions after their names in the text, `%image`."""
    for op in module.ops:
        if not isinstance(op, func.FuncOp) or op.sym_visibility is not None or not op.body.blocks:
            continue
        arguments = op.body.block.args
        given = [{**each.data} for each in op.arg_attrs or ()] or [{} for _ in arguments]
        for argument, attributes in zip(arguments, given, strict=True):
            if argument.name_hint is not None:
                attributes.update(PORT.entry(argument.name_hint) | attributes)
        op.arg_attrs = ArrayAttr([DictionaryAttr(each) for each in given])
