"""`make fuzz MINUTES=5`: what draws at random, again and again, with a new seed each round.

A round that fails ends it, with the example that Hypothesis found: add that to its test.
"""

import random
import subprocess
import sys
import time


def round_of(seed: int) -> int:
    """The exit code of one round: Hypothesis' properties, and requests drawn from the seed."""
    options = ["--hypothesis-profile", "fuzz", "--hypothesis-seed", str(seed)]
    chosen = ["-m", "hypothesis or fuzz", "tests"]
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "2", *options, *chosen]
    return subprocess.run(command, check=False).returncode


def main(minutes: float) -> None:
    end, rounds = time.monotonic() + 60 * minutes, 0
    while rounds == 0 or time.monotonic() < end:
        seed, rounds = random.SystemRandom().randrange(1, 2**32), rounds + 1
        print(f"round {rounds}, seed {seed}", flush=True)
        if round_of(seed) != 0:
            sys.exit(
                f"Round {rounds} failed. Add its example to the test (@example(…), or a case of "
                f"its own); `python -m pytest --hypothesis-profile fuzz --hypothesis-seed {seed} "
                "-m 'hypothesis or fuzz' tests` repeats it."
            )
    print(f"{rounds} rounds, no failure")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
