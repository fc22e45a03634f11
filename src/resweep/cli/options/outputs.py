"""What commands write or print: where to, in which format, and whether over what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_formats
from resweep.cli.options.paths import parse_local, parse_path

# Where to.
World = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_path, metavar="WORLD", help="The .world folder to write.")
]
LogFolder = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_path, metavar="OUT", help="The folder to write the log to.")
]
LabelledLog = Annotated[
    Path, typer.Option("-o", "--output", parser=parse_path, metavar="OUT", help="Folder of the labelled log.")
]
Converted = Annotated[
    Path, typer.Argument(parser=parse_path, metavar="OUT", help="A file with a known suffix, or a new folder.")
]
Dataset = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", parser=parse_path, metavar="OUT", help="The folder of the dataset.", show_default=False
    ),
]
MergedDataset = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_local, metavar="OUT", help="The folder of the merged dataset.")
]
RunFolder = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_local, metavar="OUT", help="The folder to write to.")
]
DemoFolder = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_local, metavar="PATH", help="The folder to make.")
]
Model = Annotated[
    Path, typer.Option("--output", "-o", parser=parse_local, metavar="MODEL", help="The folder of the model.")
]
SemanticModel = Annotated[
    Path, typer.Option("-o", "--output", parser=parse_local, metavar="MODEL", help="Folder of the model.")
]
BankOrPicture = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", parser=parse_local, metavar="OUT", help="The bank to write; with --gallery, the PNG."
    ),
]
PlotOrFit = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        parser=parse_local,
        metavar="PATH",
        help="The PNG to write (NAME.png if left out), or the YAML of --fit.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", parser=parse_local, metavar="PATH", help="Also write the report, as .html or .json."
    ),
]
Comparison = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", parser=parse_local, metavar="PATH", help="Also write the comparison, as .html or .json."
    ),
]
PictureOrFilm = Annotated[
    Path,
    typer.Option("--output", "-o", parser=parse_local, metavar="OUT", help="A .png picture, or an .mp4 or .gif film."),
]
PictureOfSweep = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        parser=parse_local,
        metavar="OUT.png",
        help="Draw a picture of one sweep from above instead, and OUT-range.png as the sensor sees.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--save",
        parser=parse_local,
        metavar="PAGE.html",
        help="Write a page that needs no server, and stop.",
        show_default=False,
    ),
]

# Over what is there, or on from where a stopped command was.
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")]
OverwriteWorld = Annotated[bool, typer.Option("--overwrite", help="Replace the world at WORLD.")]
OverwriteLog = Annotated[bool, typer.Option("--overwrite", help="Replace the log at OUT.")]
OverwriteModel = Annotated[bool, typer.Option("--overwrite", help="Replace the model at MODEL.")]
OverwriteSemanticModel = Annotated[bool, typer.Option("--overwrite", help="Replace MODEL if it exists.")]
OverwriteBank = Annotated[bool, typer.Option("--overwrite", help="Replace the bank or the picture at OUT.")]
OverwritePicture = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]
OverwritePages = Annotated[bool, typer.Option("--overwrite", help="Replace pictures or a page that exist.")]
OverwriteDemo = Annotated[bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")]
Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Keep finished steps in WORLD.partial until the end.")
]

# In which format.
FormatOfDrive = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        autocompletion=complete_formats,
        help="sweep (lossless), pcd, ply, las, laz, kitti, semantickitti, nuscenes or ros2.",
    ),
]
FormatOfLabelled = Annotated[str, typer.Option("--format", "-f", help="Format of OUT: sweep, semantickitti, ply ...")]
FormatOfFolder = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        autocompletion=complete_formats,
        help="Format of a log folder: sweep, pcd, ply, las, laz, kitti ...",
    ),
]
Points = Annotated[
    str | None,
    typer.Option(
        "--points",
        metavar="LAYOUT",
        help="Points of a ros2 bag as a driver lays them out: velodyne, ouster, livox or hesai; "
        "resweep (default) has labels too.",
        show_default=False,
    ),
]
Frame = Annotated[str | None, typer.Option(help="sensor (as fired), deskewed (motion undone) or world coordinates.")]
MappedLabels = Annotated[
    str | None, typer.Option(help="Map labels to this vocabulary, such as nuscenes-lidarseg, or a YAML file.")
]
IntensityScale = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="LAS and LAZ: counts for an intensity of 1; 65535 unless given, 257 for intensities of 0 to 255.",
        show_default=False,
    ),
]
Crs = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="COPC: a file with the WKT of the coordinate system.", show_default=False),
]

# What is printed: outputs by `resweep.cli.shared.outputs.print_outputs`.
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
JsonOfPictures = Annotated[
    bool, typer.Option("--json", help="With -o or --save: print one JSON object as the last line.")
]
JsonOfFacts = Annotated[bool, typer.Option("--json", help="Print all of it as one JSON object.")]
JsonOfBank = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
JsonOfScenario = Annotated[bool, typer.Option("--json", help="Print the scenario as one JSON object.")]
JsonOfSensors = Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")]
JsonOfFigures = Annotated[bool, typer.Option("--json", help="Print the figures as one line of JSON.")]
JsonOfScores = Annotated[bool, typer.Option("--json", help="End with one JSON object: mIoU, and IoU by class.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Also list every setting and figure that the summary leaves out.")
]
Template = Annotated[bool, typer.Option("--template", help="Print a commented YAML file to begin with.")]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema, for editors.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan of the build, and stop.")]
