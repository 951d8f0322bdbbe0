"""An encoding as controls of the page: the call that makes it, and its arguments as fields."""

import typing
from functools import cache
from types import NoneType, UnionType
from typing import Any

from posenc.core.encoding import SIZES, Encoding
from posenc.core.scaling import Scaling
from posenc.explorer import limits
from posenc.explorer.parameters import Parameter, RequestError
from posenc.explorer.requests import refuse_errors
from posenc.i18n import N_
from posenc.i18n.arguments import argument_help
from posenc.layouts import TYPICAL as LAYOUTS
from posenc.layouts import AxisLayout
from posenc.names.expressions import Call, parse_call, presets, to_call, to_source
from posenc.names.resolve import VARIANTS, share_out
from posenc.temperatures import TYPICAL as TEMPERATURES
from posenc.temperatures import Temperature

EVEN = ("dim", "rotary_dim", "buckets", "features")
STEPS = (2, 4, 6, 8)
"""Steps of dim that are tried: each axis needs channels in pairs."""
MIDDLES = {"factor": 4.0, "share": 0.25}
"""The middle of the slider of a number without a default: it spans a factor of 100 either way."""


_hints = cache(typing.get_type_hints)


@cache
def part_choices() -> dict[type, list[dict[str, str]]]:
    """The choices for an argument that is itself a call, such as a scaling, in typical size."""
    variants = [to_call(make(64)).arguments.get("scaling") for make in VARIANTS.values()]
    typical = (Scaling, filter(None, variants)), (AxisLayout, LAYOUTS), (Temperature, TEMPERATURES)
    return {
        kind: [{"name": type(each).__name__, "expression": to_source(each)} for each in values]
        for kind, values in typical
    }


def evaluate(call: Call, argument: str = "e") -> Any:
    """The value of a call; one that is too large or invalid is refused."""
    try:
        with refuse_errors(argument):
            value = call.make(limits.check_arguments)
            if isinstance(value, Encoding):
                limits.check_parameters(value)
            return value
    except RecursionError as error:
        raise RequestError("expression must not be nested so deeply", argument) from error


def fields(call: Call) -> list[dict[str, Any]]:
    """The arguments of a call that the page can offer as controls, with their present values.

    `help` says in English what each does; the page, which has all messages, translates it.
    """
    rows = _rows(call)
    for row in rows:
        if row["name"] == "dim" and type(row["value"]) is int:
            row["step"] = row["least"] = _smallest_step(call, row["value"])
    return rows


def _rows(call: Call) -> list[dict[str, Any]]:
    hints = _hints(call.function)
    rows: list[dict[str, Any]] = []
    for name, parameter in call.parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        hint, now = hints.get(name), call.arguments.get(name, default)
        row = _control(name, hint, now, default)
        if row:
            about = {"optional": _optional(hint), "help": argument_help(call.kind, name)}
            rows.append({"name": name, "value": now} | about | row)
    return rows


def _control(name: str, hint: Any, now: Any, default: Any) -> dict[str, Any] | None:
    kind = _without_none(hint)
    if typing.get_origin(kind) is typing.Literal:
        return {"type": "choice", "choices": list(typing.get_args(kind))}
    if typing.get_origin(kind) is tuple:
        return {"type": "numbers", "value": "" if now is None else ", ".join(map(repr, now))}
    if kind is bool:
        return {"type": "bool"}
    if kind in (int, float):
        return _number(name, kind, default)
    return _part(kind, now) if isinstance(now, Call) or kind in part_choices() else None


def _number(name: str, kind: type, default: Any) -> dict[str, Any]:
    if kind is int:
        step = 2 if name in EVEN else 1
        most = limits.SIZES.get(name, 2**20)
        return {"type": "int", "least": step, "most": most, "step": step}
    middle = abs(default or MIDDLES.get(name, 0.0))
    most = min(100 * middle, limits.SIZES.get(name, 100 * middle))
    return {"type": "float", "least": middle / 100, "most": most}


def _part(kind: Any, now: Any) -> dict[str, Any]:
    choices = [*part_choices().get(kind, [])]
    if not isinstance(now, Call):
        return {"type": "part", "choices": choices, "value": None, "maker": "", "fields": []}
    if choices and now.maker not in [row["name"] for row in choices]:
        choices.append({"name": now.maker, "expression": str(now)})
    inner = {"maker": now.maker, "fields": fields(now)}
    return {"type": "part", "choices": choices, "value": str(now)} | inner


def _optional(hint: object) -> bool:
    return NoneType in typing.get_args(hint)


def _without_none(hint: object) -> Any:
    if typing.get_origin(hint) not in (UnionType, typing.Union):
        return hint
    return next((each for each in typing.get_args(hint) if each is not NoneType), None)


def _smallest_step(call: Call, dim: int) -> int:
    """The smallest valid step of dim: two channels, or a pair for each axis."""
    for step in STEPS:
        other = dim + step if dim + step <= limits.SIZES["dim"] else dim - step
        if _is_valid(_follow(call.with_arguments(dim=other), call, "dim")):
            return step
    return STEPS[0]


def change_argument(call: Call, name: str, text: str) -> tuple[Call, Any]:
    """The call with one argument changed, and its value.

    name  of the argument; scaling.factor is an argument of the argument scaling
    text  its new value as typed
    """
    outer, _, inner = name.partition(".")
    rows = {row["name"]: row for row in _rows(call)}
    part = call.arguments.get(outer)
    if outer not in rows or (inner and not isinstance(part, Call)):
        raise RequestError("{kind} has no field {name!r}", "e", name=name[:80], kind=call.maker)
    if inner:
        value: Any = _change_inner(typing.cast(Call, part), outer, inner, text)
    else:
        hint = _hints(call.function)[name]
        value = _parse_value(rows[name], text, hint)
    other = _follow(call.with_arguments(**{outer: value}), call, name)
    return other, evaluate(other, name)


def _change_inner(part: Call, outer: str, inner: str, text: str) -> Call:
    try:
        return change_argument(part, inner, text)[0]
    except RequestError as error:
        raise RequestError(error, f"{outer}.{error.argument}", error.status) from error


def _parse_value(row: dict[str, Any], text: str, hint: object) -> Any:
    name, kind, text = row["name"], row["type"], text.strip()
    if row["optional"] and not text:
        return None
    if kind == "bool":
        return Parameter(name, "", choices=("true", "false")).read([text]) == "true"
    if kind == "choice":
        return text
    try:
        if kind == "part":
            return parse_call(text)
        if kind == "numbers":
            number = typing.get_args(_without_none(hint))[0]
            return tuple(number(each) for each in text.strip("()[], ").split(","))
        return int(text) if kind == "int" else float(text)
    except (TypeError, ValueError, OverflowError) as error:
        if kind == "part" and not isinstance(error, TypeError):
            raise RequestError(error, name) from error
        template = {
            "part": N_("{name} must be an expression; got {value!r}"),
            "numbers": N_("{name} must be numbers separated by commas; got {value!r}"),
        }.get(kind, N_("{name} must be a number; got {value!r}"))
        raise RequestError(template, name, value=text[:80]) from error


def _follow(call: Call, before: Call, name: str) -> Call:
    """The call with the arguments adapted that depend on the one that was changed.

    Pairs stay shared out in the same proportions. With another number of axes their order and
    shares are the default, and dim becomes a multiple of what they need.
    """
    given = call.arguments
    layout = given.get("layout")
    inner = layout if isinstance(layout, Call) else call
    if name in ("dim", "rotary_dim", "layout"):
        before_pairs = None if name == "layout" else _pairs(before)
        shared = _share_out(inner, _pairs(call), before_pairs)
        call = shared if inner is call else call.with_arguments(layout=shared)
        if name == "dim" and "axis_of_pair" in shared.arguments:  # a table stays as it is
            call = call.with_arguments(rotary_dim=2 * _pairs(before))
    elif name == "interleaved" and not _is_valid(call):  # one section is too long to take turns
        sections = given["sections"]
        call = call.with_arguments(sections=share_out(sum(sections), (1,) * len(sections)))
    elif name == "axes" and type(given["axes"]) is int:
        kept = {key: value for key, value in given.items() if key not in ("order", "shares")}
        call = Call(call.kind, call.preset, kept)
    if name in ("axes", "layout", "layout.axes") and "dim" in given and not _is_valid(call):
        axes = inner.arguments.get("axes", 2)
        if type(axes) is int and axes > 0:
            call = call.with_arguments(dim=-(-given["dim"] // (2 * axes)) * 2 * axes)
    return call


def _share_out(call: Call, pairs: int, before: int | None) -> Call:
    """The call with its sections or shares for another number of pairs, if they had all before."""
    for name in ("sections", "shares"):
        old = call.arguments.get(name)
        if old and before in (None, sum(old)):
            call = call.with_arguments(**{name: share_out(pairs, old)})
    return call


def _pairs(call: Call) -> int:
    return (call.arguments.get("rotary_dim") or call.arguments["dim"]) // 2


def _is_valid(call: Call) -> bool:
    try:
        evaluate(call)
    except RequestError:
        return False
    return True


def makers(call: Call) -> list[str]:
    """The names of what can make this encoding: its class and its presets."""
    return [Call(call.kind, preset, {}).maker for preset in (None, *presets(call.kind))]


def rebuild(call: Call, value: Encoding, maker: str) -> tuple[Call, Encoding]:
    """The encoding made by another of its makers: the class, or a preset with shared arguments."""
    preset = Parameter("as", "", choices=tuple(makers(call))).read([maker]).partition(".")[2]
    if not preset:
        return to_call(value), value
    other = Call(call.kind, preset, {})
    stated = {"dim": value.dim, "heads": value.heads, "axes": value.axes}
    have = SIZES | {name: size for name, size in stated.items() if size is not None}
    dim = int(have["dim"])
    have |= {"sections": share_out(dim // 2, (2, 3, 3))}
    wanted = {name: each.default is each.empty for name, each in other.parameters.items()}
    same = {name: given for name, given in call.arguments.items() if name in wanted}
    needed = {name: have[name] for name, required in wanted.items() if required}
    rounded = needed | ({"dim": max(4, dim // 4 * 4)} if "dim" in needed else {})
    for arguments in (needed | same, needed, rounded):
        try:
            made = other.with_arguments(**arguments)
            return made, evaluate(made, "as")
        except RequestError as error:
            wrong = error
    raise wrong
