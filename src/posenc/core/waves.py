"""Encodings by waves: angles that are positions times frequencies, which the kernels compute."""

from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from posenc.core.arrays import Array, is_plain_tensor
from posenc.core.encoding import Encoding
from posenc.core.rotation import Waves

if TYPE_CHECKING:
    from posenc.core.fused_torch import Fused


class Wavelike(Encoding):
    """An encoding that may be made of waves; the mechanisms derive from it that have kernels."""

    _methods: ClassVar[tuple[str, ...]] = ()
    """The methods that compute it: a class that overrides one is asked for it, not for waves."""

    _is_waves: ClassVar[bool] = False
    """Whether `waves` are all that there is to it."""

    def waves(self) -> Waves | None:
        """The frequency of each pair, if angles are positions times frequencies; None otherwise.

        An encoding that has them is computed by the compiled kernels. A rotation may define
        `cos_sin` by `super().cos_sin`. What is added has channels sin, cos, sin, cos, …, or with
        `layout` "concat" all sines first.
        """
        return None

    @abstractmethod
    def _fuse(self, waves: Waves) -> "Fused | None":
        """These waves as the kernels for PyTorch take them."""

    def fuse(self) -> Any:
        """This encoding as the compiled kernels for PyTorch take it; None if it has no waves."""
        if not self._is_waves:
            return None
        try:
            fused = _fuse(self)
        except TypeError:  # a field that cannot be hashed
            return _fuse.__wrapped__(self)
        if fused is not None and not fused.has_values:  # made under FakeTensorMode
            _fuse.cache_clear()
        return fused

    def fuse_for(self, x: Array, positions: Array) -> Any:
        """`fuse`, if the kernels take these arrays; None otherwise."""
        fused = self.fuse() if self._is_waves and is_plain_tensor(x) else None
        return fused if fused is not None and fused.takes(x, positions) else None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        overrides = not own.keys().isdisjoint(cls._methods)
        cls._is_waves = "waves" in own or (cls._is_waves and not overrides)


@lru_cache(maxsize=256)  # by the whole value: equal encodings are computed alike
def _fuse(encoding: Wavelike) -> "Fused | None":
    waves = encoding.waves()
    return None if waves is None else encoding._fuse(waves)  # pyright: ignore[reportPrivateUsage]
