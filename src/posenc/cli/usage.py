"""What the commands share: options, and usage errors out of what the library says."""

from collections.abc import Callable
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")


def usage(work: Callable[[], Any]) -> Any:
    """Run `work`; what the library says of a wrong argument is a usage error."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error
