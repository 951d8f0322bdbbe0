"""An explanation is asked for a form or a step that it does not have."""

import pytest

import posenc as pe


def test_a_form_that_is_not_there():
    with pytest.raises(ValueError, match="form must be one of text, markdown, latex, html, json"):
        pe.explain("rope").render("pdf")
    with pytest.raises(ValueError, match="name must be that of a step, one of formula, "):
        pe.explain("rope")["nothing"]
