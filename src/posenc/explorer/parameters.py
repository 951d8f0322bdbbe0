"""Query parameters of the explorer's endpoints: declared once, for parsing and for OpenAPI."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.explorer import limits
from posenc.i18n import LANGUAGES, N_, Phrase
from posenc.views.kinds import KINDS


class RequestError(Exception):
    """A request is refused: a message, the argument that it is about, and the HTTP status.

    The message is a template with its values, in which {name} is the argument, or a phrase or an
    error of the library; `posenc.i18n.translate` translates it.
    """

    def __init__(
        self,
        message: str | Exception | Phrase,
        argument: str | None = None,
        status: int = 400,
        **values: object,
    ) -> None:
        template = message if isinstance(message, str) else "{error}"
        self.words = Phrase(template, {"name": argument, "error": message} | values)
        super().__init__(str(self.words))
        self.argument, self.status = argument, status


@dataclass(frozen=True)
class Parameter:
    """A query parameter: an integer if it has a largest value, one of some choices, or text."""

    name: str
    about: str
    default: Any = None
    least: int = 0
    most: int | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False
    longest: int = limits.EXPRESSION
    example: object = field(default=None, compare=False)

    def read(self, given: list[str]) -> Any:
        """Its value, or the default if it is not given."""
        if not given:
            return self.default
        if self.repeated:
            return tuple(self._read_one(value) for value in given)
        if len(given) > 1:
            raise RequestError(
                "{name} must be given once; got it {count} times", self.name, count=len(given)
            )
        return self._read_one(given[0])

    def _read_one(self, value: str) -> Any:
        too_long = N_("{name} must have at most {most:,} characters; got {count:,}")
        check_most(too_long, self.name, len(value), self.longest)
        if self.choices and value not in self.choices:
            raise RequestError(
                "{name} must be one of {choices}; got {value!r}",
                self.name,
                choices=", ".join(self.choices),
                value=value[:80],
            )
        return value if self.most is None else self._read_integer(value, self.most)

    def _read_integer(self, value: str, most: int) -> int:
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise RequestError(
                "{name} must be a whole number; got {value!r}", self.name, value=value[:80]
            )
        number, bounds = int(value), {"least": self.least, "most": most}
        if not self.least <= number <= most:
            template = N_("{name} must be {least:,} .. {most:,}; got {value:,}")
            raise RequestError(template, self.name, value=number, **bounds)
        return number

    def schema(self) -> dict[str, object]:
        """The parameter as OpenAPI describes it."""
        one: dict[str, object] = {"type": "string", "maxLength": self.longest}
        if self.most is not None:
            one = {"type": "integer", "minimum": self.least, "maximum": self.most}
        if self.choices:
            one = {"type": "string", "enum": list(self.choices)}
        if self.default is not None and not self.repeated:
            one["default"] = self.default
        if self.repeated:
            one = {"type": "array", "items": one, "maxItems": limits.ENCODINGS}
        described = {"name": self.name, "in": "query", "description": self.about, "schema": one}
        return described | ({"example": self.example} if self.example is not None else {})


def refuse_slow(seconds: float) -> RequestError:
    """The refusal of what has taken so many seconds."""
    template = N_("this takes longer than {seconds:g} seconds; ask for less")
    return RequestError(template, status=503, seconds=seconds)


def check_most(message: str, argument: str, count: int, most: int, status: int = 413) -> None:
    """Refuse a request for more than `most`, by a message about {count} and {most}."""
    if count > most:
        raise RequestError(message, argument, status, count=count, most=most)


def read(
    parameters: tuple[Parameter, ...], query: Mapping[str, list[str]], *, changes: bool = False
) -> dict[str, Any]:
    """The values of all parameters. An invalid or unknown one is refused.

    changes  whether set.NAME=VALUE is taken too: each VALUE by its NAME under "changes"
    """
    known = {each.name: each for each in parameters}
    others = [name for name in query if name not in known]
    for name in others:
        if not (changes and name.startswith("set.")):
            raise RequestError(
                "there is no parameter {name!r}; there are: {names}",
                name[:80],
                names=", ".join([*known, *(["set.PARAMETER"] if changes else [])]),
            )
    values = {name: each.read(query.get(name, [])) for name, each in known.items()}
    changed = {name[4:]: Parameter(name[:80], "").read(query[name]) for name in others}
    return values | {"changes": changed}


def language(query: Mapping[str, list[str]]) -> str:
    """The language of the answer, also of an error: English if the one given is unknown."""
    lang = next(iter(query.get("lang", [])), "en")
    return lang if lang in LANGUAGES else "en"


TEXT = Parameter("text", "The sentence.", "", longest=limits.TEXT, example="狗咬了人")
BY = Parameter(
    "by",
    "How the sentence is split into tokens.",
    "spaces",
    choices=("words", "spaces", "characters", "bytes", "bpe", "tokenizer"),
)
ENCODINGS = Parameter(
    "e",
    "An encoding as an expression; several are shown side by side.",
    ("Sinusoidal(64)",),
    repeated=True,
    example=["RoPE(64, scaling=YaRN(4.0, 4096))"],
)
AS = Parameter("as", "A preset of its class to make it with instead.", example="AxialRoPE.split")
LENGTH = Parameter("n", "How many positions, if more than tokens.", 0, most=limits.POSITIONS)
SEED = Parameter("seed", "Seed of randomly drawn parameters.", 0, most=2**24)
LANG = Parameter("lang", "The language of messages.", "en", choices=LANGUAGES)
POSITION = Parameter("p", "A position.", 0, most=2**24 - 64)
DIMENSION = Parameter("d", "A dimension.", 0, most=limits.SIZES["dim"] - 1)
COLUMN = Parameter(
    "k", "A column, where positions are places in a picture.", 0, most=limits.POSITIONS
)
HEAD = Parameter("h", "The head to look at, from 1.", None, least=1, most=limits.SIZES["heads"])
CAUSAL = Parameter(
    "causal",
    "Whether attention masks the keys ahead; by default as the encodings are meant.",
    choices=("yes", "no"),
)
ACTIVE = Parameter("a", "Which of the encodings is active, from 0.", 0, most=limits.ENCODINGS - 1)
VIEW = Parameter("view", "The kind of view.", choices=tuple(KINDS))
HIDE = Parameter("hide", "Parts of the page to hide, separated by commas.", longest=120)
THEME = Parameter("theme", "Light or dark.", "light", choices=("light", "dark"))
ROWS = Parameter("rows", "Most rows of cells to average to; 0 for all.", 600, most=limits.POSITIONS)
COLUMNS = Parameter(
    "columns", "Most columns of cells to average to; 0 for all.", 1_024, most=limits.POSITIONS
)
CHANNELS = Parameter(
    "channels", "Dimensions or pairs whose waves are shown, separated by commas.", longest=64
)
PANEL = Parameter("panel", "Which panel of the view, from 0.", 0, most=64)
WINDOW = tuple(
    Parameter(name, f"The {name} of the window to cut out, in cells.", 0, most=limits.POSITIONS)
    for name in ("top", "left", "height", "width")
)
