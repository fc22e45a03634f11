"""``resweep objects``: a bank of objects out of a drive, and what a bank holds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resweep.cli.options import building, outputs, recordings
from resweep.cli.shared.outputs import print_outputs
from resweep.cli.shared.writing import locks
from resweep.errors import InputError, OutputError, ResweepError
from resweep.remote import recover_output

if TYPE_CHECKING:
    from resweep.log import Log
    from resweep.objects import ObjectConfig


@locks("output", reads=["path"])
def objects(
    path: recordings.LogOrBank,
    output: outputs.BankOrPicture = None,
    gallery: building.Gallery = False,
    min_points: building.MinPoints = None,
    format: recordings.FormatOfLog = None,
    sweeps: recordings.SweepsOfLog = None,
    set_: building.SettingsOfObjects = None,
    poses: recordings.Poses = None,
    pose_rate: recordings.PoseRate = None,
    json: outputs.JsonOfBank = False,
    overwrite: outputs.OverwriteBank = False,
) -> None:
    """Cut the annotated objects out of a log into a bank, or show what a bank holds.

    Examples:
      resweep objects kitti/2011_09_26_drive_0051_sync -o bank
      resweep objects bank
      resweep objects bank --gallery -o bank.png
    """
    from resweep.cli.shared.bank_tables import draw_gallery, print_bank
    from resweep.cli.shared.inputs import open_posed
    from resweep.cli.shared.shared_recordings import parse_slice
    from resweep.scenario.bank import is_bank, load_bank

    recover_output(path)
    if not path.exists():
        raise InputError(f"{path}: no such log or bank; check the path")
    building = {"--min-points": min_points, "--format": format, "--sweeps": sweeps, "--set": set_, "--poses": poses}
    if is_bank(path) or gallery:
        given = [name for name, value in building.items() if value]
        if given:
            raise ResweepError(
                f"{given[0]}: is for building a bank from a log, and {path} is to be shown; leave it out"
            )
        bank = load_bank(path)
        if gallery:
            draw_gallery(bank, path, output, overwrite)
        elif output is not None:
            raise ResweepError(f"{path}: is a bank; give a log to build one from, or --gallery to draw it to {output}")
        else:
            print_bank(bank, path, json)
        return
    if output is None:
        raise InputError(f"{path}: is no bank; to build one from this log, give -o BANK")
    config = _read_config(min_points, set_ or [])
    _check_target(output, overwrite)
    log = open_posed(path, False, poses, pose_rate, format=format)[parse_slice(sweeps)]
    _build(log, output, config, json, overwrite)


def _check_target(output: Path, overwrite: bool) -> None:
    """Raise if no bank can be written at ``output``."""
    from resweep.cli.shared.inputs import check_writable
    from resweep.scenario.bank import is_bank

    if output.exists() and not overwrite:
        raise OutputError(f"{output}: exists; choose another name or give --overwrite")
    if output.exists() and not is_bank(output):
        raise OutputError(f"{output}: exists and is not a bank; choose another name or remove it")
    check_writable(output)


def _build(log: Log, output: Path, config: ObjectConfig, json: bool, overwrite: bool) -> None:
    from resweep.cli.shared.bank_tables import print_bank
    from resweep.objects import build_bank

    began = time.perf_counter()
    bank = build_bank(log, config, progress=True)
    bank.save(output, overwrite=overwrite)
    if not json:
        summary = bank.meta["summary"]
        skipped = "".join(f", {count} skipped ({why})" for why, count in summary["skipped"].items())
        typer.echo(
            f"{output}: {len(bank)} of {summary['objects']} objects{skipped}, {time.perf_counter() - began:.1f} s"
        )
    print_bank(bank, output, json)
    if not json:
        typer.echo(f"next: resweep objects {output} --gallery -o {output.name}.png")
        print_outputs([("bank", output)])


def _read_config(min_points: int | None, settings: list[str]) -> ObjectConfig:
    from resweep.cli.shared.inputs import nest_settings
    from resweep.objects import ObjectConfig

    data = nest_settings(settings)
    if min_points is not None:
        data["min_points"] = min_points
    return ObjectConfig(**data)
