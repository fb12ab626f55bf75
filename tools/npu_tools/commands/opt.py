"""npu-opt: xDSL's driver with npu-dialect's dialects, passes, targets and front ends.

    npu-opt model.onnx --pass-pipeline='builtin.module(npu-bufferize, npu-assign-sram-offsets)' -t c

It takes every option of xdsl-opt. A user's mistake gives one message and exit code 1. The output
file is written at the end, or not at all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import IO, Any, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from npu_dialect.complement import completed
from npu_passes.pipelines import PIPELINES
from npu_passes.support.safe_text import SafeParser
from npu_tools.commands.arguments import usage_error
from npu_tools.compiling.pass_text import check_options, parse_passes
from npu_tools.importers.frontends import FRONTENDS, parse_input_dims
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.installed import multiverse

TOOL = "npu-opt"


class HeldOutput(StringIO):
    """Stands for the output file during the run: it keeps the text until the run has succeeded."""

    text = ""

    def close(self) -> None:
        """Save what was written as `text`, which a closed StringIO would lose."""
        if not self.closed:
            self.text = self.getvalue()
        super().close()


def read_bytes(io: IO[Any]) -> bytes:
    """Read the rest of an input as bytes. xDSL opens inputs as text before 0.74, then as bytes."""
    data: str | bytes = getattr(io, "buffer", io).read()
    return data.encode() if isinstance(data, str) else data


class NpuOptMain(xDSLOptMain):
    """One run of npu-opt: xDSL's driver with models as inputs and errors for people."""

    version_format: ClassVar[str] = "npu-opt on xDSL {xdsl_version}"

    held: HeldOutput | None = None

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Register the options of xdsl-opt and those of npu-opt."""
        super().register_all_arguments(arg_parser)
        arg_parser.prog = TOOL
        arg_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        arg_parser.epilog = "named pipelines, to be used like passes:\n" + "\n".join(
            f"  {name}: {pipeline.summary}\n    {pipeline.text}"
            for name, pipeline in PIPELINES.items()
        )
        arg_parser.error = usage_error
        arg_parser.add_argument(
            "--pass-pipeline",
            metavar="PIPELINE",
            help="the passes in MLIR's spelling: 'builtin.module(a, b{x=1})'",
        )
        arg_parser.add_argument(
            "--input-dim",
            action="append",
            default=[],
            metavar="NAME=N",
            help="the size of a dynamic dimension of an imported model; may be repeated",
        )
        arg_parser.add_argument(
            "--elide-weights",
            action="store_true",
            help="print large constants as dense_resource<__elided__>: to read, not to compile",
        )

    def register_all_dialects(self) -> None:
        """Register all installed dialects, with upstream ops that xDSL lacks."""
        for name, factory in completed(multiverse().all_dialects).items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Register the installed passes, as xDSL does, which would look for packages again."""
        for name, factory in multiverse().all_passes.items():
            self.register_pass(name, factory)

    def register_all_frontends(self) -> None:
        """Register a front end for MLIR text and one for each kind of model."""
        self.available_frontends["mlir"] = self.parse_text
        for extension in FRONTENDS:
            self.available_frontends[extension] = self.model_parser(extension)

    def parse_text(self, io: IO[bytes]) -> ModuleOp:
        """Parse MLIR text.

        Raises: UserError if it is not UTF-8 or malformed; ParseError or DiagnosticException for
        errors that xDSL's parser describes itself.
        """
        name = self.get_input_name()
        try:
            text = read_bytes(io).decode()
        except UnicodeDecodeError as error:
            raise UserError(f"{name}: not MLIR text: byte {error.start} is not UTF-8") from None
        try:
            parser = SafeParser(self.ctx, text, name)
            return parser.parse_module(not self.args.no_implicit_module)
        except (ParseError, DiagnosticException):
            raise
        except Exception as error:  # xDSL's parser lets Python errors through on malformed text
            raise UserError(f"{name}: malformed MLIR: {type(error).__name__}: {error}") from None

    def model_parser(self, extension: str) -> Callable[[IO[bytes]], ModuleOp]:
        """The front end for models with a file extension."""

        def parse(io: IO[bytes]) -> ModuleOp:
            dims = parse_input_dims(self.args.input_dim)
            return FRONTENDS[extension](read_bytes(io), self.args.input_file, dims)

        return parse

    def register_all_targets(self) -> None:
        """Register the targets of the universe; `mlir` gets a printer that is fast with weights."""

        def weight_target() -> type[Target]:
            from npu_tools.compiling.printer import ElidingTarget, WeightTarget

            return ElidingTarget if self.args.elide_weights else WeightTarget

        self.available_targets |= multiverse().all_targets
        self.available_targets["mlir"] = weight_target

    def setup_pipeline(self) -> None:
        """Set up the passes of `-p` or `--pass-pipeline`.

        Between passes, xDSL's own callback runs, then the check of discardable attributes.

        Raises: UserError if both options are given, or if the pipeline's text is wrong.
        """
        if self.args.passes and self.args.pass_pipeline:
            raise UserError("expected -p or --pass-pipeline, got both")
        text = self.args.pass_pipeline or self.args.passes
        self.args.passes = ""
        super().setup_pipeline()
        passes = parse_passes(self.available_passes, text)
        checked = self.pipeline.callback

        def callback(
            previous: ModulePass | None, module: ModuleOp, after: ModulePass | None
        ) -> None:
            if checked is not None:
                try:
                    checked(previous, module, after)
                except DiagnosticException:
                    raise
                except Exception as error:  # some ops of xDSL raise Python's own
                    if previous is not None:
                        raise
                    name = self.get_input_name()
                    raise UserError(f"{name}: the input does not verify: {error}") from error
            if not self.args.disable_verify:
                self.check_attributes(module)

        self.pipeline = PassPipeline(passes, callback)

    @staticmethod
    def check_attributes(module: ModuleOp) -> None:
        """Check discardable attributes. The check is imported only if an op has attributes.

        Raises: VerifyException for an attribute with a wrong value or in a wrong place; the IR
        with the op marked is attached.
        """
        if any(op.attributes or "arg_attrs" in op.properties for op in module.walk()):
            from npu_dialect.contract import check_attributes

            check_attributes(module)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """Print the module with the target of `-t`.

        Raises: UserError for wrong options of the target.
        """
        spec = parse_spec(self.args.target)
        kind: Any = self.available_targets[spec.name]
        check_options("target", kind(), spec)
        return super().output_resulting_program(prog)

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        """Open the input.

        Raises: UserError if no front end reads files with its extension.
        """
        try:
            return super().prepare_input()
        except ValueError:
            raise UserError(
                f"{self.get_input_name()}: unknown file extension: expected "
                f"{', '.join(f'.{name}' for name in self.available_frontends)}, or -f"
            ) from None

    def prepare_output(self) -> IO[str]:
        """The output stream: standard output, or text in memory that becomes a file at the end."""
        if self.args.output_file is None:
            return super().prepare_output()
        self.held = HeldOutput()
        return self.held

    def run(self) -> None:
        """Run the passes and the target, then write the output file of `-o`."""
        super().run()
        if self.held is not None:
            from npu_tools.shared.files import write_file

            write_file(Path(self.args.output_file), self.held.text)


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-opt; returns the exit code."""
    name: list[str] = []

    def body() -> int:
        tool = NpuOptMain(
            description="The passes of npu-dialect, on MLIR text and models", args=args
        )
        name.append(tool.get_input_name())
        tool.run()
        return 0

    return guarded(TOOL, body, lambda: name[0] if name else None)


if __name__ == "__main__":
    sys.exit(main())
