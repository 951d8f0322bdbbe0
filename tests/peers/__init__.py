"""The doctor on other libraries. Run by `make peers`, in an environment that has them."""

import importlib.util
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")


def timm_without_torchvision() -> None:
    """Let single files of timm be imported where its packages, which need torchvision, cannot."""
    if importlib.util.find_spec("torchvision") is None:
        for name in ("timm", "timm.layers"):
            spec = importlib.util.find_spec(name)
            if spec is not None and name not in sys.modules:
                sys.modules[name] = importlib.util.module_from_spec(spec)
