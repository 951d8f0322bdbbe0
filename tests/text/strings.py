"""Texts that are hard to split, for Hypothesis."""

from hypothesis import strategies as st

ODD = (
    "ab 1\r\n\t\x00é\u0301\u200d\u200c\ufe0f👩👨🌾❤🏽🇯🇵🇫\u1100\u1161\u11a8가각"
    "कषि\u094dไ\u0e33ע\u05b0\u0600学习が\u3099ー，\u3000\ufffd\U000e0067"
)
ANY = st.text(st.characters(exclude_categories=["Cs"])) | st.text(ODD, max_size=30)
