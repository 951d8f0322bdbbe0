"""Tables in HTML."""

from xml.etree import ElementTree

from posenc.i18n.html import html_table


def test_cells_are_text_whatever_they_hold():
    cells = ["<script>alert(1)</script>", "a & b", '"quoted"']
    table = ElementTree.fromstring(html_table([cells], head=["1", "2 <", "3"]))
    assert [cell.text for cell in table.iter("td")] == cells
    assert [cell.text for cell in table.iter("th")] == ["1", "2 <", "3"]


def test_a_table_without_a_head_has_rows_alone():
    table = ElementTree.fromstring(html_table([["a"], ["b"]]))
    assert [row[0].tag for row in table] == ["td", "td"]
