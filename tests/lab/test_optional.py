"""Optional libraries."""

import math
import sys

import pytest

from posenc.lab.optional import import_optional


def test_what_is_there_is_imported_and_what_is_not_is_named(monkeypatch):
    assert import_optional("math", "a sum") is math
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match="engine 'ray' needs ray: pip install ray"):
        import_optional("ray.util", "engine 'ray'")
