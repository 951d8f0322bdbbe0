"""Every encoding that has a name, of a size that is quick to explain."""

import posenc as pe
from posenc.names.resolve import VARIANTS, resolve

EVERY = [*pe.catalogue(), *VARIANTS]


def of_size(name, **options):
    dim = {"dim": 16} if next(iter(resolve(name).values())).dim else {}
    return pe.explain(name, length=2, **dim, **options)
