"""How commands run: what they report, with how much of the machine, on which machines, and from which seed."""

from __future__ import annotations

from typing import Annotated

import typer

from resweep.cli.options.declarations import flag, option

# Of every command, before its name or after it.
Verbose = Annotated[bool, flag("--verbose -v", "Show every piece of work, however short, with its time.")]
Quiet = Annotated[bool, flag("--quiet -q", "Show no progress; only results, warnings and errors.")]

# Of what may be larger than memory: used by `resweep.memory.parse_memory`.
Memory = Annotated[
    str | None, option("--memory", "SIZE", "Memory to hold at most, such as 4GB; half of the machine's by default.")
]
# Of work that can be divided: opened by `resweep.cluster.open_workers`.
Cluster = Annotated[
    str | None,
    option(
        "--cluster",
        "WHERE",
        "Run on the workers of a dask cluster: local:N, the address of a scheduler (tcp://host:port), or a YAML "
        "file; the bytes are the same.",
    ),
]
Threads = Annotated[int, typer.Option(min=0, metavar="N", help="0 takes all cores.")]
SweepsAtOnce = Annotated[int, typer.Option("--workers", min=0, metavar="N", help="Sweeps at once; 0 takes all cores.")]
LabelledAtOnce = Annotated[int, typer.Option("--threads", min=0, help="Sweeps labelled at once; 0 for one a core.")]
Processes = Annotated[int, typer.Option("--workers", min=1, help="Processes that drive at the same time.")]

Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]
Seed64 = Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same bytes.")]
SeedOfModel = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The same seed gives the same model.")]
SeedOfPlace = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Another seed, another place.")]
SeedOfScene = Annotated[int, typer.Option(min=0, help="Seed of a procedural scene.")]
