"""``resweep objects``: a bank of objects out of a drive, and what a bank holds."""

from __future__ import annotations

from resweep.cli.options import building, outputs, recordings
from resweep.cli.shared.writing import locks
from resweep.errors import InputError


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
    from resweep.cli.shared.banks import build_from_log, check_bank_folder, check_log_or_bank, read_config, show_bank
    from resweep.cli.shared.building import parse_slice
    from resweep.cli.shared.inputs import open_posed

    of_logs = {
        "--min-points": min_points,
        "--format": format,
        "--sweeps": sweeps,
        "--set": set_,
        "--poses": poses,
    }
    if check_log_or_bank(path, gallery, of_logs):
        show_bank(path, output, gallery, json, overwrite)
        return
    if output is None:
        raise InputError(f"{path}: is no bank; to build one from this log, give -o BANK")
    config = read_config(min_points, set_ or [])
    check_bank_folder(output, overwrite)
    log = open_posed(path, False, poses, pose_rate, format=format)[parse_slice(sweeps)]
    build_from_log(log, output, config, json, overwrite)
