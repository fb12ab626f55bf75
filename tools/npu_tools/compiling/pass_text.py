"""Parsing the text of pass pipelines, for `--pass-pipeline`, `-p` and `npu-compile --pipeline`.

    builtin.module(npu-fold-batch-norm, npu-bufferize{x=1}, canonicalize)   // MLIR's spelling
    npu-fold-batch-norm,npu-bufferize{x=1},canonicalize                     // xDSL's
    unlu2020                                                                // a named pipeline

All three spellings are accepted everywhere. Each named pipeline stands for its passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from npu_passes.pipelines import PIPELINES
from npu_tools.shared.errors import UserError

PassTable = Mapping[str, Callable[[], type[ModulePass]]]

ANCHOR = "builtin.module("
# These patterns take linear time, as a text may be hostile. A search starts at every character, so
# a failed match must not be tried again from the next one: a string that is not closed matches to
# the end of the text, and runs of blanks and words match only from their first character.
QUOTED = re.compile(r'"(?:\\[\s\S]|[^"\\])*(?:"|\\?\Z)|\[[^\]]*(?:\]|\Z)')
"""A string, or the `[...]` text of an mlir-opt pipeline. Blanks in them are kept."""
SPACED = re.compile(rf"({QUOTED.pattern})|(?:(?<!\s)\s++)?([,{{}}=()])\s*+")
"""What `QUOTED` matches, or a punctuation mark with the blanks around it."""
NESTED = re.compile(r"(?<![\w.-])([\w.-]++)\(")
"""The anchor of a nested pipeline: the op's name in front of `(`."""


def plain_text(text: str) -> str:
    """The text of a pipeline without its `builtin.module(...)` and blanks around punctuation.

    Raises: UserError if the anchor is not closed, or if an anchor is not `builtin.module`.
    """
    text = SPACED.sub(lambda found: found[1] or found[2], text.strip())
    if text.startswith(ANCHOR):
        if not text.endswith(")"):
            raise UserError(f"pass pipeline: expected `)` at the end of {text!r}")
        text = text[len(ANCHOR) : -1]
    if nested := NESTED.search(QUOTED.sub("", text)):
        raise UserError(
            f"pass pipeline: unknown anchor {nested[1]!r}: expected passes on builtin.module"
        )
    return text


def pass_specs(available: PassTable, text: str) -> Iterator[ArgSpec]:
    """The passes of a pipeline with their options; named pipelines are replaced by their passes.

    Raises: UserError if the text does not parse, or if a pass does not exist.
    """
    try:
        specs = list(parse_pipeline(plain_text(text)))
    except ArgSpecParseError as error:
        raise UserError(str(error).strip()) from None
    for spec in specs:
        if spec.name in available:
            yield spec
        elif spec.name in PIPELINES and not spec.parameters:
            yield from pass_specs(available, PIPELINES[spec.name].text)
        else:
            near = get_close_matches(spec.name, [*available, *PIPELINES], n=1)
            hint = f": did you mean {near[0]!r}?" if near else ": see npu-opt --help"
            raise UserError(f"pass pipeline: unknown pass {spec.name!r}{hint}")


def parse_passes(available: PassTable, text: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline, built with their options.

    Raises: UserError if the text does not parse, or for a wrong pass or option; it names them.
    """
    return tuple(build_pass(available[spec.name](), spec) for spec in pass_specs(available, text))


def build_pass(kind: type[ModulePass], spec: ArgSpec) -> ModulePass:
    """Build one pass with its options.

    Raises: UserError for an unknown or missing option, or a value of the wrong type.
    """
    check_options("pass", kind, spec)
    return kind.from_pass_spec(spec)


def check_options(what: str, kind: type[ArgSpecConvertible], spec: ArgSpec) -> None:
    """Check the options of a pass or a target; `what` is "pass" or "target", for the message.

    Raises: UserError for an unknown or missing option, or a value of the wrong type.
    """
    options = [item.name for item in fields(kind) if item.init and item.name != "name"]
    given = spec.normalize_parameter_names().parameters
    for option in given:
        if option not in options:
            known = ", ".join(options) or "no options"
            raise UserError(f"{what} {spec.name}: unknown option {option!r}: expected {known}")
    for option in options:
        if option in kind.required_fields() and option not in given:
            raise UserError(f"{what} {spec.name}: missing option {option!r}")
    try:
        kind.from_spec(spec)
    except ValueError as error:
        hints = get_type_hints(kind)
        wrong = next((name for name in given if not accepts(hints[name], given[name])), None)
        if wrong is None:
            raise UserError(f"{what} {spec.name}: {error}") from None
        shown = ",".join(str(value) for value in given[wrong])
        raise UserError(
            f"{what} {spec.name}: option {wrong}: expected {expected(hints[wrong])}, got {shown!r}"
        ) from None


def accepts(hint: Any, values: tuple[Any, ...]) -> bool:
    """Whether xDSL accepts these values for an option with this type hint."""
    return (len(values) == 1 and isa(values[0], hint)) or isa(values, hint)


def expected(hint: Any) -> str:
    """The type hint of an option, in words for a message."""
    choices = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) in (Union, UnionType) and len(choices) == 1:
        return expected(choices[0])
    if get_origin(hint) is Literal:
        return f"one of {', '.join(str(choice) for choice in get_args(hint))}"
    return type_repr(hint)


def with_value(specs: Sequence[ArgSpec], name: str, option: str, value: str | int) -> list[ArgSpec]:
    """The pipeline with one option set on each pass of a name, if there are any."""
    return [
        ArgSpec(name, {**spec.parameters, option: (value,)}) if spec.name == name else spec
        for spec in specs
    ]
