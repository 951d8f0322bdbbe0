"""The built package: what people install has the page, the catalogues and the tokeniser in it."""

import importlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_a_missing_message_ends_the_build(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    build = importlib.import_module("hatch_build")
    build.check_messages()
    for path in build.LOCALE.glob("*.po"):
        kept = path.read_text(encoding="utf-8").replace('msgid "Tour"', 'msgid "Other"')
        (tmp_path / path.name).write_text(kept, encoding="utf-8")
    monkeypatch.setattr(build, "LOCALE", tmp_path)
    with pytest.raises(SystemExit, match=r"ja.po lacks messages of the page: \['Tour'\]"):
        build.check_messages()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *command, str(ROOT)], check=True)
    (path,) = folder.glob("posenc-*.whl")
    with zipfile.ZipFile(path) as opened:
        yield path, {name: opened.read(name) for name in opened.namelist()}


def test_the_wheel_has_the_page(wheel):
    _, files = wheel
    index = files["posenc/explorer/static/index.html"].decode()
    for asset in re.findall(r'(?:src|href)="\./(assets/[^"]+)"', index):
        assert files[f"posenc/explorer/static/{asset}"]
    assert len(re.findall(r'"\./assets/[^"]+\.(js|css)"', index)) == 2
    assert "<script>" not in index
    assert "style=" not in index


def test_the_wheel_has_what_is_read_at_run_time(wheel):
    _, files = wheel
    for name in (
        "i18n/locale/ja.po",
        "i18n/locale/zh-Hans.po",
        "i18n/locale/zh-Hant.po",
        "text/tokenizer.json",
        "py.typed",
    ):
        assert f"posenc/{name}" in files


def test_a_wheel_with_kernels_is_for_one_platform_and_any_python(wheel):
    path, files = wheel
    assert ("posenc/kernels/_kernels.so" in files) == (not path.name.endswith("py3-none-any.whl"))
    assert "-py3-none-" in path.name
    assert "posenc/kernels/csrc/library.cpp" in files  # to be compiled where PyTorch comes later


def test_the_wheel_is_small_and_has_no_sources_of_the_page(wheel):
    path, files = wheel
    assert path.stat().st_size < 2_000_000
    assert not [
        name for name in files if "node_modules" in name or name.endswith((".svelte", ".ts"))
    ]


def test_the_page_names_no_host(wheel):
    _, files = wheel
    text = "".join(
        data.decode() for name, data in files.items() if name.startswith("posenc/explorer/static/")
    )
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"www.w3.org", "svelte.dev"}  # namespaces, and the address in Svelte's errors
