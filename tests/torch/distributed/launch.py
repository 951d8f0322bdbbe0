"""Runs a function in several processes that talk by gloo, and ends all of them within a minute.

`launch` starts one process of its own. That imports PyTorch once and forks the ranks, waits for
them, ends those that are left when another failed, and says of each rank how it ended.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[3]
MOST_SECONDS = 55
"""For all ranks together, on a machine that does nothing else."""
ANSWER_SECONDS = int(os.environ.get("POSENC_ANSWER_SECONDS", "30"))
"""How long a rank waits there for an answer of another."""
LAST_SECONDS = 10
"""How long ranks have there to end once another has failed."""


SHARED = (
    "torch._dynamo",
    "torch.distributed.fsdp",
    "array_api_compat.torch",
    "posenc.encodings.rope",
)
"""What ranks would import one by one."""


class RankError(Exception):
    """Says of each rank that failed how it ended."""


def allow(seconds: int) -> int:
    """So many seconds, or as many times more as there are processes for each core."""
    return int(seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def launch(place: str, world: int, folder: Path) -> None:
    """Call module:function(rank, world, folder) in `world` processes; raise if a rank fails."""
    command = [sys.executable, "-m", __name__, place, str(world), str(folder)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=allow(MOST_SECONDS) + 5)
    finally:
        if not has_ended(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        raise RankError(said)


def has_ended(group: int) -> bool:
    """Whether no process of this group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def main(place: str, world: int, folder: Path) -> int:
    """Fork the ranks and wait for them; 1 if one of them failed."""
    module, _, name = place.partition(":")
    for shared in (*SHARED, module):
        import_module(shared)
    function = getattr(import_module(module), name)
    ranks: dict[int, int] = {}
    for rank in range(world):
        pid = os.fork()
        if not pid:
            os._exit(run(function, rank, world, folder))
        ranks[pid] = rank
    signal.signal(signal.SIGALRM, lambda *_: [os.kill(pid, signal.SIGKILL) for pid in ranks])
    signal.alarm(allow(MOST_SECONDS))
    failed = False
    while ranks:
        pid, status = os.waitpid(-1, 0)
        rank, code = ranks.pop(pid), os.waitstatus_to_exitcode(status)
        if code:
            if not failed:
                signal.alarm(allow(LAST_SECONDS))
            failed = True
            how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
            print(f"rank {rank} {how}\n{_read(folder / f'error-{rank}.txt')}", flush=True)
    return int(failed)


def run(function: Callable[[int, int, Path], None], rank: int, world: int, folder: Path) -> int:
    """One rank: 0, or 1 after writing down what went wrong."""
    import torch
    from torch import distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(0)
    try:
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(str(folder / "store"), world),
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=allow(ANSWER_SECONDS)),
        )
        function(rank, world, folder)
        dist.barrier()
        dist.destroy_process_group()
    except BaseException as error:
        said = str(error)
        if "Connection closed" in said or "imed out" in said or "Connection reset" in said:
            said = f"rank {rank} stops, for another rank has ended or does not answer: {said}"
        text = f"{said}\n{traceback.format_exc()}"
        (folder / f"error-{rank}.txt").write_text(text)
        return 1
    return 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else "it left no message"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
