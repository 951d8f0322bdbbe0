"""Hugging Face's rotary modules against ours: walked, run and compared, none of them by name."""
