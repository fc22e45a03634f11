"""Load a folder of KITTI's tracking benchmark with pykitti, and let TrackEval rate its own labels as a tracker's.

Called as ``python kitti_tracking.py TRAINING TRACKERS``; prints one JSON object.
"""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path

import pykitti  # type: ignore[import-not-found]
import trackeval  # type: ignore[import-not-found]
from pykitti.tracking import KittiTrackingLabels  # type: ignore[import-not-found]
from pykitti.utils import load_oxts_packets_and_poses  # type: ignore[import-not-found]

training, trackers = Path(sys.argv[1]), Path(sys.argv[2])
with contextlib.redirect_stdout(io.StringIO()):
    loaded = pykitti.tracking(str(training), "0000")
    labels = KittiTrackingLabels(str(training / "label_02" / "0000.txt"))
    motion = load_oxts_packets_and_poses([str(training / "oxts" / "0000.txt")])
    shutil.copytree(training / "label_02", trackers / "same" / "data")
    settings = {"GT_FOLDER": str(training), "TRACKERS_FOLDER": str(trackers), "PRINT_CONFIG": False}
    quiet = {"PRINT_RESULTS": False, "PRINT_CONFIG": False, "TIME_PROGRESS": False, "OUTPUT_SUMMARY": False}
    quiet |= {"OUTPUT_DETAILED": False, "PLOT_CURVES": False, "DISPLAY_LESS_PROGRESS": True}
    evaluator = trackeval.Evaluator({**trackeval.Evaluator.get_default_eval_config(), **quiet})
    metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR({"PRINT_CONFIG": False})]
    results, _ = evaluator.evaluate([trackeval.datasets.Kitti2DBox(settings)], metrics)
whole = results["Kitti2DBox"]["same"]["COMBINED_SEQ"]
print(
    json.dumps(
        {
            "scans": [loaded.get_velo(at).shape[0] for at in range(len(loaded.velo_files))],
            "image": loaded.get_cam2(0).size,
            "tracks": len(labels.ids),
            "classes": sorted(labels._df["class"].unique()),
            "places": [item.T_w_imu[:3, 3].tolist() for item in motion],
            "hota": {name: float(whole[name]["HOTA"]["HOTA"].mean()) for name in ("car", "pedestrian")},
            "mota": {name: float(whole[name]["CLEAR"]["MOTA"]) for name in ("car", "pedestrian")},
            "counted": {name: int(whole[name]["CLEAR"]["CLR_TP"]) for name in ("car", "pedestrian")},
        }
    )
)
