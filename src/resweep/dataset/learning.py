"""Models of a sensor from its recordings: sweeps are simulated again in worlds of other sweeps (D, 5.1)."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import resweep
from resweep.build import BuildConfig, HybridConfig
from resweep.build.pipeline import build
from resweep.errors import ResweepError
from resweep.files.partial import hash_text, resumable_folder
from resweep.files.pieces import remove
from resweep.files.publication import NEW
from resweep.learn.beam_pairs import BeamPair, PairConfig, make_pairs
from resweep.learn.model_folder import check_output
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.objects import build_bank
from resweep.optional import require
from resweep.pose import Array
from resweep.scenario import Actor
from resweep.scenario.replay_actors import replay_actors
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.simulate.realism.model_card import RealismCard
from resweep.sweep import Sweep
from resweep.worlds import World


def learn_realism(
    logs: Log | Sequence[Log],
    path: str | Path,
    config: RealismConfig | None = None,
    *,
    method: BuildConfig | None = None,
    overwrite: bool = False,
    resume: bool = True,
    made_from: Mapping[str, str] | None = None,
    progress: bool = True,
) -> RealismCard:
    """Learn which beams of a sensor do not return, and the intensity of returns; writes a model and gives its card.

    Each sweep of ``logs``, which are of one sensor, is simulated at its own pose in a world built by ``method``
    (default: `HybridConfig`) from other sweeps of its log, with its annotated objects. Where the simulation returns and
    the recording does not, a beam was dropped. Scores in the card are those of places that were held out: the last of
    several logs, or the last part of one. `load_realism` reads the folder ``path``.

    Finished sweeps and the training are kept beside ``path``, in a folder of its name and ``.partial``, and the same
    call goes on from there unless ``resume`` is false. ``made_from`` is as in `write_log`.

    Example: ``rs.learn_realism(rs.open_log("kitti/sequences/00"), "kitti.model")``
    """
    require("torch", "learning")
    logs, path, config = [logs] if isinstance(logs, Log) else list(logs), Path(path), config or RealismConfig()
    method = HybridConfig() if method is None else method
    check_output(path, overwrite)
    scale, range_max_m = _find_scale(logs), _find_range(logs, config)
    key = _make_key(config, method, logs, made_from or {}) | ({} if resume else {"inputs": uuid.uuid4().hex})
    with resumable_folder(path, key, "finished sweeps to learn from") as partial:
        remove(partial / NEW)  # a model is written once all is learned
        (partial / NEW).mkdir()
        pairs = []
        for number, log in enumerate(logs):
            cache = partial / f"pairs-{number}"
            cache.mkdir(exist_ok=True)
            own = hash_text(*key.values(), number)
            pairs += pair_log(log, method, config.pairs, cache=cache, key=own, progress=progress)
        return fit_realism(
            pairs,
            partial / NEW,
            config,
            labels=", ".join(sorted({log.labels.name for log in logs})),
            scale=scale,
            range_max_m=range_max_m,
            checkpoints=partial,
            progress=progress,
        )


def _find_scale(logs: Sequence[Log]) -> float | None:
    """The full scale of the intensities of logs, which must be the same."""
    if not logs:
        raise ResweepError("logs: none given; learning needs recordings of a sensor")
    scales = {log.intensity_scale for log in logs}
    if len(scales) > 1:
        listed = ", ".join(f"{log.name}: {log.intensity_scale or 'unknown'}" for log in logs)
        raise ResweepError(f"logs: intensities have different full scales ({listed}); learn a model for each")
    return scales.pop()


def _find_range(logs: Sequence[Log], config: RealismConfig) -> float | None:
    """The maximum range of the logs' sensor, metres; an error if it is unknown and the model is to be transferable."""
    ranges = {None if log.sensor is None else log.sensor.range_max_m for log in logs}
    found = config.range_max_m or (ranges.pop() if len(ranges) == 1 else None)
    if config.transferable and found is None:
        raise ResweepError(
            "range_max_m: the maximum range of the logs' sensor is unknown, and a transferable model takes ranges "
            "against it; set range_max_m"
        )
    return found


def _make_key(
    config: RealismConfig, method: BuildConfig, logs: Sequence[Log], made_from: Mapping[str, str]
) -> dict[str, str]:
    """What decides the pairs; checkpoints of the training have keys of their own."""
    settings = (config.pairs.model_dump_json(), type(method).__name__, method.model_dump_json())
    return {
        "version": resweep.__version__,
        "config": hash_text(*settings, *(log.labels.name for log in logs), made_from.get("config")),
        "inputs": hash_text(*map(_describe_log, logs), made_from.get("inputs")),
    }


def _describe_log(log: Log) -> str:
    """What tells a log from another one: its name, and where its sweeps were recorded and when."""
    return f"{log.name} {len(log)} {log.times.tolist()} {log.poses.tolist()}"


def pair_log(
    log: Log,
    method: BuildConfig | None = None,
    config: PairConfig | None = None,
    *,
    cache: Path | None = None,
    key: str = "",
    progress: bool = True,
) -> list[BeamPair]:
    """The sweeps of a log, each with its re-simulation in a world of the others, by the method that ``method`` names.

    Annotated objects are actors, cut out of the other sweeps too. Of logs without, beams that returned from what moves
    are left out. ``cache`` is a folder in which finished pairs are kept; ``key`` tells this log and these settings from
    others.
    """
    method, log = HybridConfig() if method is None else method, prepare_drive(log)
    annotated = _has_boxes(log)
    labels = method.map.choose_labels(log)

    def make(rest: Log, whole: Log) -> tuple[World, Sequence[Actor]]:
        world = build(rest, method, progress=False)
        return world, _place_objects(rest, whole, world) if annotated else ()

    def mappable(sweep: Sweep) -> Array:
        if annotated:
            return np.asarray(sweep.range >= method.map.ego_radius_m)
        return find_mappable(sweep, method.map, labels)

    return make_pairs(log, make, mappable, config, cache=cache, key=key, progress=progress)


def _has_boxes(log: Log) -> bool:
    boxes = log[0].boxes if len(log) else None
    return boxes is not None and len(boxes) > 0


def _place_objects(rest: Log, whole: Log, world: World) -> Sequence[Actor]:
    """The annotated objects of the whole log, cut out of the ``rest`` of it."""
    try:
        return replay_actors(whole, world, build_bank(rest, progress=False)).actors
    except ResweepError as error:
        warnings.warn(f"log '{whole.name}': its objects are left out of the simulation ({error})", stacklevel=2)
        return ()
