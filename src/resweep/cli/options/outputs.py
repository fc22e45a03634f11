"""What commands write or print: where to, in which format, and whether over what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resweep.cli.options.completion import complete_formats
from resweep.cli.options.declarations import argument, flag, option, output, parse_local, parse_path

# Where to.
World = Annotated[Path, output("WORLD", "The .world folder to write.", parser=parse_path)]
LogFolder = Annotated[Path, output("OUT", "The folder to write the log to.", parser=parse_path)]
LabelledLog = Annotated[Path, output("OUT", "Folder of the labelled log.", parser=parse_path)]
Converted = Annotated[Path, argument("OUT", "A file with a known suffix, or a new folder.")]
Dataset = Annotated[Path | None, output("OUT", "The folder of the dataset.", parser=parse_path, show_default=False)]
MergedDataset = Annotated[Path, output("OUT", "The folder of the merged dataset.")]
RunFolder = Annotated[Path, output("OUT", "The folder to write to.")]
DemoFolder = Annotated[Path, output("PATH", "The folder to make.")]
Model = Annotated[Path, output("MODEL", "The folder of the model.")]
SemanticModel = Annotated[Path, output("MODEL", "Folder of the model.")]
BankOrPicture = Annotated[Path | None, output("OUT", "The bank to write; with --gallery, the PNG.")]
PlotOrFit = Annotated[Path | None, output("PATH", "The PNG to write (NAME.png if left out), or the YAML of --fit.")]
Report = Annotated[Path | None, output("PATH", "Also write the report, as .html or .json.")]
Judgement = Annotated[Path | None, output("PATH", "Also write the judgement, as .html or .json.")]
Comparison = Annotated[Path | None, output("PATH", "Also write the comparison, as .html or .json.")]
PictureOrFilm = Annotated[Path, output("OUT", "A .png picture, or an .mp4 or .gif film.")]
PictureOfSweep = Annotated[
    Path | None,
    output(
        "OUT.png",
        "Draw a picture of one sweep from above instead, and OUT-range.png as the sensor sees.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None, option("--save", "PAGE.html", "Write a page that needs no server, and stop.", parser=parse_local)
]

# Over what is there, or on from where a stopped command was.
Overwrite = Annotated[bool, flag("--overwrite", "Replace OUT if it exists.")]
OverwriteWorld = Annotated[bool, flag("--overwrite", "Replace the world at WORLD.")]
OverwriteLog = Annotated[bool, flag("--overwrite", "Replace the log at OUT.")]
OverwriteModel = Annotated[bool, flag("--overwrite", "Replace the model at MODEL.")]
OverwriteSemanticModel = Annotated[bool, flag("--overwrite", "Replace MODEL if it exists.")]
OverwriteBank = Annotated[bool, flag("--overwrite", "Replace the bank or the picture at OUT.")]
OverwritePicture = Annotated[bool, flag("--overwrite", "Replace an output that exists.")]
OverwritePages = Annotated[bool, flag("--overwrite", "Replace pictures or a page that exist.")]
OverwriteDemo = Annotated[bool, flag("--overwrite", "Replace the folder of an earlier demo.")]
Resume = Annotated[bool, flag("--resume/--no-resume", "Keep finished steps in WORLD.partial until the end.")]

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
    option(
        "--points",
        "LAYOUT",
        "Points of a ros2 bag as a driver lays them out: velodyne, ouster, livox or hesai; "
        "resweep (default) has labels too.",
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
Json = Annotated[bool, flag("--json", "Print one JSON object as the last line.")]
JsonOfPictures = Annotated[bool, flag("--json", "With -o or --save: print one JSON object as the last line.")]
JsonOfFacts = Annotated[bool, flag("--json", "Print all of it as one JSON object.")]
JsonOfBank = Annotated[bool, flag("--json", "Print one JSON object instead of a table.")]
JsonOfScenario = Annotated[bool, flag("--json", "Print the scenario as one JSON object.")]
JsonOfSensors = Annotated[bool, flag("--json", "Print JSON in place of tables.")]
JsonOfFigures = Annotated[bool, flag("--json", "Print the figures as one line of JSON.")]
JsonOfScores = Annotated[bool, flag("--json", "End with one JSON object: mIoU, and IoU by class.")]
Everything = Annotated[bool, flag("--all", "Also list every setting and figure that the summary leaves out.")]
Template = Annotated[bool, flag("--template", "Print a commented YAML file to begin with.")]
Schema = Annotated[bool, flag("--schema", "Print the JSON Schema, for editors.")]
DryRun = Annotated[bool, flag("--dry-run", "Print the plan of the build, and stop.")]
