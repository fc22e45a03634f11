"""Files that hold no sweep that is read here: what each is, and the program that reads or converts it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from resweep.errors import nearest_names
from resweep.files.untrusted import open_regular
from resweep.io.format import Format
from resweep.remote import is_remote

# Files of the field that are not read, and what to do with them. Ouster's commands are those of its SDK (docs/cli of
# ouster-lidar/ouster-sdk); a bag that was not closed is repaired as the ROS wiki says (rosbag/Commandline).
_NOT_READ = {
    ".osf": "Ouster's OSF is not read; write PCD files with 'ouster-cli source NAME.osf save NAME.pcd' "
    "(pip install ouster-sdk) and open their folder",
    ".pcap": "recorded packets are not read; decode them: of an Ouster with 'ouster-cli source NAME.pcap save "
    "NAME.pcd' (pip install ouster-sdk), of a Velodyne with velodyne_decoder.read_pcap (pip install velodyne-decoder), "
    "of others play them to the maker's ROS driver and record a bag of its point clouds",
    ".lvx": "Livox' LVX is not read; record a ROS bag with its driver, or export LAS or PCD from Livox Viewer",
    ".bag.active": "a ROS bag that was not closed; run 'rosbag reindex NAME.bag.active' and rename it to NAME.bag",
    ".tfrecord": "TFRecord files, as Waymo's, are not read; export each sweep as PCD",
    ".gz": "is compressed; unpack it and open what is inside",
    ".xyz": "points as text do not say what their columns are; save them as PLY, PCD or LAS, as CloudCompare does",
    ".txt": "text does not say what its columns are; save points as PLY, PCD or LAS, as CloudCompare does",
    ".obj": "is a mesh, so a world and not a log; look at it with 'resweep view NAME.obj', and fire a sensor in it "
    "with 'resweep simulate NAME.obj' (in Python World.from_mesh)",
    ".mtl": "is the materials of a mesh; give its .obj",
    ".pls": "PulseWaves is not read; export LAS from the scanner's software, or read it with the Python code of "
    "github.com/Rheinwalt/pulsewaves and write LAS",
    ".wdp": "is the waveforms of a LAS file; open the .las of that name",
    ".rrd": "Rerun's recordings are not read; get the clouds as arrays with rerun-sdk (pip install rerun-sdk) and "
    "write them with rs.write_sweep(rs.Sweep.from_points(points), 'NAME.pcd')",
    ".rxp": "RIEGL's RXP is not read; export LAS or E57 from RiSCAN PRO",
    ".npz": "arrays of Python do not say what their columns are; make sweeps of them with rs.Sweep.from_points and "
    "write those with rs.write_sweep",
    ".feather": "is a table; of Argoverse 2 open the folder of the whole log, which has sensors/lidar in it",
    ".label": "is the labels of a scan; open the .bin of that name, which takes them",
    ".vox": "is a grid of voxels, without points; open the cloud that it was computed from",
    ".png": "is a picture, which holds no points",
}
_NOT_READ_EITHER = {
    ".pcapng": ".pcap",
    ".lvx2": ".lvx",
    **dict.fromkeys((".zip", ".tar", ".tgz", ".bz2", ".xz", ".7z"), ".gz"),
    **dict.fromkeys((".pts", ".ptx", ".asc", ".csv"), ".xyz"),
    **dict.fromkeys((".stl", ".glb", ".gltf", ".off", ".dae"), ".obj"),
    ".wvs": ".pls",
    ".rdbx": ".rxp",
    **dict.fromkeys((".npy", ".pkl"), ".npz"),
    **dict.fromkeys((".jpg", ".jpeg"), ".png"),
}
_INCIDENTAL = {".txt", ".png", ".mtl"}  # kinds that lie in folders of anything: notes, pictures
_ENDINGS = sorted({*_NOT_READ, *_NOT_READ_EITHER}, key=len, reverse=True)
_MIN_SUFFIX_LIKENESS = 0.7  # of suffixes, to suggest one for the other: two letters that changed places, or one more
_LEVELS_ABOVE = 4  # folders above a path that may be the log that it is a part of
_OUSTER_KEY = b"beam_altitude_angles"
_HEAD_BYTES = 1 << 16


def explain_file(path: Path, formats: Iterable[Format]) -> str:
    """What to do with a file of no format: open its log, or what its kind needs, or the nearest suffix."""
    formats = tuple(formats)
    known = [suffix for entry in formats if entry.read for suffix in entry.suffixes]
    if (above := find_log_above(path, formats)) is not None:
        return f"a part of the log {above[0]} ({above[1].title}); open that folder"
    if (ending := find_unread(path)) is not None:
        return advise_unread(path, ending)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _explain_json(path, known)
    if not suffix:
        return f"has no suffix that says what it is; known: {', '.join(sorted(known))}"
    return f"unknown suffix '{suffix}'; {nearest_names(suffix, known, cutoff=_MIN_SUFFIX_LIKENESS)}"


def find_unread(path: Path) -> str | None:
    """The ending of a file that is known not to be read, or None."""
    name = path.name.lower()
    return next((ending for ending in _ENDINGS if name.endswith(ending)), None)


def find_kind_unread(ending: str) -> str:
    """The ending that stands for all of one kind, as .obj for meshes."""
    return _NOT_READ_EITHER.get(ending, ending)


def is_incidental(kind: str) -> bool:
    """Whether files of a kind say little of what a folder is: text and pictures lie in all of them."""
    return kind in _INCIDENTAL


def advise_unread(path: Path, ending: str) -> str:
    """What a file of this ``ending`` is, and what to do with it."""
    stem, kind = path.name[: -len(ending)], find_kind_unread(ending)
    return _NOT_READ[kind].replace(f"NAME{kind}", f"{stem}{ending}").replace("NAME", stem)


def recognise(path: Path, formats: Iterable[Format]) -> Format | None:
    """The first format of whole logs that knows ``path``; None too for what cannot be looked at."""
    try:
        return next((entry for entry in formats if entry.recognises and entry.recognises(path)), None)
    except OSError:  # nothing can be said of what belongs to others
        return None


def find_log_above(path: Path, formats: Iterable[Format]) -> tuple[Path, Format] | None:
    """The folder of the log of which ``path`` is a part by the layout of its format, and that format.

    Above what a URL names nothing is looked for: rights may end there, and so does a bucket.
    """
    if is_remote(path):
        return None
    formats = tuple(formats)
    folder = path
    for _ in range(_LEVELS_ABOVE):
        child, folder = folder, folder.parent if folder.name not in ("", "..") else folder.absolute().parent
        if (entry := recognise(folder, formats)) is not None:
            inside = {part.split("/")[0] for part in entry.parts if "/" in part}
            return (folder, entry) if child.name in inside else None
    return None


def _explain_json(path: Path, known: Iterable[str]) -> str:
    with open_regular(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if _OUSTER_KEY in head:
        return (
            "the metadata of an Ouster sensor, no sweep; it belongs to a recording of the same name (.pcap), and "
            "'resweep sensors' lists the Ouster sensors of the catalog"
        )
    return (
        f"JSON holds no sweep; open the folder of the log that it belongs to, or a file with {', '.join(sorted(known))}"
    )
