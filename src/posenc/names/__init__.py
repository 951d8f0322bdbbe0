"""From text to encodings and back: names, expressions, files."""
