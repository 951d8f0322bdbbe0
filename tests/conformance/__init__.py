"""Hugging Face's rotary modules against ours: walked, run and compared, none of them by name."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
