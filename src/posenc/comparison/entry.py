"""One encoding of a comparison, as data: measured, or out of its own metadata."""

from dataclasses import asdict, dataclass

import numpy as np

from posenc.bench.costs import Cost, measure
from posenc.checks import Report, check
from posenc.core.about import About
from posenc.core.encoding import Encoding, Mechanism


@dataclass(frozen=True)
class Entry:
    """What is known of one encoding, before it is put into words."""

    name: str
    encoding: str
    """The value in full, with its sizes."""
    acts: Mechanism | None
    parameters: int
    trained: int
    parameter_bytes: int
    axes: int
    causal_only: bool
    about: About
    report: Report
    cost: Cost | None
    untimed: str
    """Why there is no cost, if there should be one."""

    def holds(self, name: str) -> bool:
        """Whether a check found what the encoding claims."""
        return self.report[name].verdict == "holds"

    def lacks(self, name: str) -> bool:
        """Whether a check found that it is not so, claimed or not."""
        return self.report[name].verdict in ("fails", "not claimed: does not hold")

    def to_json(self) -> dict[str, object]:
        """The entry as plain data."""
        rows = self.report.to_json()["rows"]
        kept = ("verdict", "measured", "bound", "detail")
        return {
            "name": self.name,
            "encoding": self.encoding,
            "acts": self.acts,
            "parameters": {
                "count": self.parameters,
                "trained": self.trained,
                "bytes": self.parameter_bytes,
            },
            "axes": self.axes,
            "axial": self.about.axial or None,
            "properties": {row["name"]: {key: row[key] for key in kept} for row in rows},
            "cost": None if self.cost is None else asdict(self.cost),
            "untimed": self.untimed or None,
            "models": list(self.about.models),
            "paper": self.about.paper or None,
            "year": self.about.year,
        }


def measure_entry(name: str, encoding: Encoding, *, bench: bool, seed: int, limit: float) -> Entry:
    """The entry of an encoding: every check, its parameters as `init` draws them, its cost."""
    report = check(encoding, seed=seed, limit=limit)
    drawn = _draw_params(encoding, seed)
    trained = {key: value for key, value in drawn.items() if encoding.parameters()[key].trained}
    cost, untimed = _measure_cost(encoding, report) if bench else (None, "")
    return Entry(
        name=name,
        encoding=report.subject,
        acts=encoding.mechanism,
        parameters=sum(value.size for value in drawn.values()),
        trained=sum(value.size for value in trained.values()),
        parameter_bytes=sum(value.nbytes for value in drawn.values()),
        axes=encoding.axes or 1,
        causal_only=encoding.causal_only,
        about=encoding.about,
        report=report,
        cost=cost,
        untimed=untimed,
    )


def _draw_params(encoding: Encoding, seed: int) -> dict[str, np.ndarray]:
    try:
        drawn = encoding.init(np.random.default_rng(seed))
        return {name: np.asarray(value) for name, value in drawn.items()}
    except Exception:  # the report says what is wrong with it
        return {}


def _measure_cost(encoding: Encoding, report: Report) -> tuple[Cost | None, str]:
    if report.unmeasured:
        return None, "a check had no answer within its time limit"
    try:
        return measure(encoding), ""
    except Exception as error:  # whatever a foreign encoding raises: it has no cost then
        return None, " ".join(f"{type(error).__name__}: {error}".split())
