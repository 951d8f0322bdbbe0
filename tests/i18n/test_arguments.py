"""What each argument does is said once, in four languages, for all that the page offers."""

import pytest

from posenc import scalings, temperatures
from posenc.encodings.registry import load_builtins
from posenc.i18n import LANGUAGES, catalogue
from posenc.i18n.arguments import SHARED, argument_help, sentences
from posenc.names.expressions import Call, presets


def derived(module, base):
    found = (each for each in vars(module).values() if isinstance(each, type))
    return [each for each in found if issubclass(each, base) and each is not base]


KINDS = [
    *(kind for kind in load_builtins().values()),
    *derived(scalings, scalings.Scaling),
    *derived(temperatures, temperatures.Temperature),
    temperatures.Tempered,
]
CALLS = [Call(kind, preset, {}) for kind in KINDS for preset in (None, *presets(kind))]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.maker)
def test_every_argument_has_a_sentence_in_every_language(call, lang):
    for name in call.parameters:
        sentence = argument_help(call.kind, name)
        assert sentence.endswith("."), f"{call.maker}: {name}"
        if lang != "en":
            assert catalogue(lang)[sentence].endswith("。"), f"{call.maker}: {name}"


def test_no_sentence_is_left_over():
    taken = {name for call in CALLS for name in call.parameters}
    assert set(SHARED) <= taken
    for kind in KINDS:
        own = set(vars(kind).get("argument_help", {}))
        calls = [call for call in CALLS if call.kind is kind]
        assert own <= {name for call in calls for name in call.parameters}, kind


def test_a_class_of_someone_else_has_what_its_names_mean_here():
    class Mine:
        argument_help = sentences(dim="Mine.")

    assert argument_help(Mine, "dim") == "Mine."
    assert argument_help(Mine, "heads") == SHARED["heads"]
    assert argument_help(Mine, "colour") == ""
