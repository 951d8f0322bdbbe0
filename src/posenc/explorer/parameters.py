"""Query parameters of the explorer's endpoints: declared once, for parsing and for OpenAPI."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc.explorer import limits
from posenc.i18n import LANGUAGES, Phrase


class RequestError(Exception):
    """A request is refused: a message, the argument that it is about, and the HTTP status.

    The message is a template with its values, or an error of the library; `posenc.i18n.told`
    translates it.
    """

    def __init__(
        self,
        message: str | Exception,
        argument: str | None = None,
        status: int = 400,
        **values: object,
    ) -> None:
        whole = isinstance(message, str)
        self.words = Phrase(message, values) if whole else Phrase("{error}", {"error": message})
        super().__init__(str(self.words))
        self.argument, self.status = argument, status


@dataclass(frozen=True)
class Parameter:
    """A query parameter: an integer with bounds, one of some choices, or text."""

    name: str
    about: str
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    repeated: bool = False
    longest: int = limits.EXPRESSION
    example: Any = field(default=None, compare=False)

    def read(self, given: list[str]) -> Any:
        """Its value, or the default if it is not given."""
        if not given:
            return self.default
        if self.repeated:
            return tuple(self._read_one(value) for value in given)
        if len(given) > 1:
            raise RequestError(
                "{name} must be given once; got it {count} times",
                self.name,
                name=self.name,
                count=len(given),
            )
        return self._read_one(given[0])

    def _read_one(self, value: str) -> Any:
        if len(value) > self.longest:
            raise RequestError(
                "{name} must have at most {most:,} characters; got {count:,}",
                self.name,
                413,
                name=self.name,
                most=self.longest,
                count=len(value),
            )
        if self.choices and value not in self.choices:
            raise RequestError(
                "{name} must be one of {choices}; got {value!r}",
                self.name,
                name=self.name,
                choices=", ".join(self.choices),
                value=value[:80],
            )
        return value if self.least is None else self._read_integer(value)

    def _read_integer(self, value: str) -> int:
        assert self.least is not None
        most = 2**24 if self.most is None else self.most
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise RequestError(
                "{name} must be a whole number; got {value!r}",
                self.name,
                name=self.name,
                value=value[:80],
            )
        if not self.least <= int(value) <= most:
            raise RequestError(
                "{name} must be {least:,} .. {most:,}; got {value:,}",
                self.name,
                name=self.name,
                least=self.least,
                most=most,
                value=int(value),
            )
        return int(value)

    def schema(self) -> dict[str, Any]:
        """The parameter as OpenAPI describes it."""
        if self.least is None:
            one: dict[str, Any] = {"type": "string", "maxLength": self.longest}
        else:
            most = 2**24 if self.most is None else self.most
            one = {"type": "integer", "minimum": self.least, "maximum": most}
        if self.choices:
            one = {"type": "string", "enum": list(self.choices)}
        if self.default is not None and not self.repeated:
            one["default"] = self.default
        kind = {"type": "array", "items": one, "maxItems": limits.ENCODINGS}
        described = {
            "name": self.name,
            "in": "query",
            "description": self.about,
            "schema": kind if self.repeated else one,
        }
        return described | ({"example": self.example} if self.example is not None else {})


def read(
    parameters: tuple[Parameter, ...], query: Mapping[str, list[str]], *, changes: bool = False
) -> dict[str, Any]:
    """The values of all parameters. An invalid or unknown one is refused."""
    known = {each.name: each for each in parameters}
    for name in query:
        if name not in known and not (changes and name.startswith("set.")):
            raise RequestError(
                "there is no parameter {name!r}; there are: {names}",
                name[:80],
                name=name[:80],
                names=", ".join([*known, *(["set.PARAMETER"] if changes else [])]),
            )
    return {name: each.read(query.get(name, [])) for name, each in known.items()}


def language(query: Mapping[str, list[str]]) -> str:
    """The language of the answer, also of an error: English if the one given is unknown."""
    lang = next(iter(query.get("lang", [])), "en")
    return lang if lang in LANGUAGES else "en"


def read_changes(query: Mapping[str, list[str]]) -> dict[str, str]:
    """The fields of an encoding to change: VALUE by NAME for each set.NAME=VALUE."""
    return {
        name.removeprefix("set."): str(Parameter(name[:80], "").read(given))
        for name, given in query.items()
        if name.startswith("set.")
    }


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
LENGTH = Parameter(
    "n", "How many positions, if more than tokens.", 0, least=0, most=limits.POSITIONS
)
SEED = Parameter("seed", "Seed of randomly drawn parameters.", 0, least=0)
LANG = Parameter("lang", "The language of messages.", "en", choices=LANGUAGES)
POSITION = Parameter("p", "A position.", 0, least=0, most=2**24 - 64)
DIMENSION = Parameter("d", "A dimension.", 0, least=0, most=limits.SIZES["dim"] - 1)
COLUMN = Parameter(
    "k", "A column, where positions are places in a picture.", 0, least=0, most=8_192
)
HEAD = Parameter("h", "The head to look at, from 1.", None, least=1, most=limits.SIZES["heads"])
CAUSAL = Parameter(
    "causal",
    "Whether attention masks the keys ahead; by default as the encodings are meant.",
    choices=("yes", "no"),
)
ACTIVE = Parameter(
    "a", "Which of the encodings is active, from 0.", 0, least=0, most=limits.ENCODINGS - 1
)
HIDE = Parameter("hide", "Parts of the page to hide, separated by commas.", longest=120)
THEME = Parameter("theme", "Light or dark.", "light", choices=("light", "dark"))
ROWS = Parameter("rows", "Most rows of cells to average to; 0 for all.", 600, least=0, most=8_192)
COLUMNS = Parameter(
    "columns", "Most columns of cells to average to; 0 for all.", 1_024, least=0, most=8_192
)
CHANNELS = Parameter(
    "channels", "Dimensions or pairs whose waves are shown, separated by commas.", longest=64
)
PANEL = Parameter("panel", "Which panel of the view, from 0.", 0, least=0, most=64)
WINDOW = tuple(
    Parameter(name, f"The {name} of the window to cut out, in cells.", 0, least=0, most=8_192)
    for name in ("top", "left", "height", "width")
)
