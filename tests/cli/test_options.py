"""Options and arguments that commands share: languages, completion of names."""

import json
from importlib.metadata import EntryPoint

import pytest
from click.shell_completion import ShellComplete

import posenc as pe
from posenc.cli import main
from posenc.cli.options import complete_name
from posenc.names.resolve import SCALED


@pytest.mark.parametrize(
    ("tag", "lang"),
    [
        *(("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh_TW", "zh-Hant"), ("jp", "ja")),
        *(("zh-HK", "zh-Hant"), ("ja-JP", "ja"), ("en_US.UTF-8", "en"), ("ZH-HANT-TW", "zh-Hant")),
        *(("zh-Hans-HK", "zh-Hans"), ("zh-Hant", "zh-Hant")),
    ],
)
def test_common_language_tags_are_accepted(run, tag, lang):
    told = json.loads(run("explain", "nope", "--lang", tag, "--json").stdout)
    assert told == pe.explain("nope", lang=tag).to_json() == pe.explain("nope", lang=lang).to_json()
    assert pe.compare("nope", bench=False, lang=tag).lang == lang
    assert pe.views.view("nope", lang=tag).title == pe.views.view("nope", lang=lang).title
    assert pe.demonstrate("addition", lang=tag) == pe.demonstrate("addition", lang=lang)


def complete(*words):
    *before, last = words
    found = ShellComplete(main, {}, "posenc", "_POSENC_COMPLETE").get_completions(before, last)
    return [(item.value, item.type) for item in found]


def test_commands_and_names_are_completed():
    assert ("compare", "plain") in complete("com")
    for command in ("check", "compare", "show", "list", "bench"):
        assert complete(command, "rope", "al") == [("alibi", "plain")]
        assert complete(command, "yar") == [("yarn", "plain")]
        assert complete(command, "conf") == [("conf", "file")]
    assert [name for name, _ in complete("check", "")] == [*pe.catalogue(), *SCALED]
    assert complete("show", "rope", "ALI") == [("alibi", "plain")]
    assert complete("compare", "--lang", "zh") == [("zh-Hans", "plain"), ("zh-Hant", "plain")]


def test_completing_names_imports_no_other_package(monkeypatch):
    theirs = EntryPoint("clock", "no_such_package:Clock", "posenc.encodings")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [theirs])
    assert [item.value for item in complete_name(None, None, "clo")] == ["clock"]
