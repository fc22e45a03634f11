"""Models that are learned from recordings, and the model that labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.declarations import argument, flag, parse_path, setting

LogsOfSensor = Annotated[list[Path], argument("LOG...", "Recordings of one sensor; the last ones are held out.")]
LabelledLogs = Annotated[list[Path], argument("LOG...", "Logs with labels.")]
BoxedLogs = Annotated[list[Path], argument("LOG...", "Logs with boxes, or with labels that have instances.")]
Validate = Annotated[
    list[Path] | None,
    typer.Option(
        parser=parse_path,
        metavar="LOG",
        help="A log to choose the best round by; may be repeated. By default the last of several logs, or the last "
        "fifth of the only one.",
        show_default=False,
    ),
]
Test = Annotated[
    list[Path] | None,
    typer.Option(
        parser=parse_path,
        metavar="LOG",
        help="A log to report on, of which training sees nothing; may be repeated.",
        show_default=False,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        help="What learns the drops: unet (mlp if --transferable), mlp, trees, logistic or none.",
        show_default=False,
    ),
]
Intensity = Annotated[
    str, typer.Option("--intensity", metavar="VARIANT", help="What learns the intensities; none leaves them.")
]
Transferable = Annotated[
    bool, flag("--transferable", "Learn only what means the same for other sensors: no lasers, no images.")
]
Folds = Annotated[int, typer.Option(min=2, metavar="N", help="Worlds a log, each without one of N parts.")]
Epochs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Epochs at most.", show_default=False)]
Settings = Annotated[list[str] | None, setting("Another setting, such as drop.training.learning_rate=1e-4.")]
SettingsOfTraining = Annotated[
    list[str] | None,
    setting("A setting of the training as FIELD=VALUE, such as epochs=10 or network.cell_m=0.3; may be repeated."),
]
SettingsOfSegmenter = Annotated[
    list[str] | None,
    setting("A setting of the training as FIELD=VALUE, such as epochs=20 or network.width=16; may be repeated."),
]
LabellingModel = Annotated[
    Path, typer.Option("--model", "-m", metavar="MODEL", help="The folder that resweep learn semantics wrote.")
]
Judges = Annotated[
    list[Path],
    typer.Option(
        "--model",
        parser=parse_path,
        metavar="MODEL",
        help="The folder of a model that resweep learn wrote: a segmenter, a detector or a labeller; may be repeated.",
    ),
]
