"""Resweep: record a place once with any LiDAR, sweep it again with any other."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; at run time modules load on first use
    from resweep import calibrate as calibrate
    from resweep import cluster as cluster
    from resweep import dataset as dataset
    from resweep import drive as drive
    from resweep import errors as errors
    from resweep import evaluation as evaluation
    from resweep import io as io
    from resweep import learn as learn
    from resweep import map as map
    from resweep import objects as objects
    from resweep import pose as pose
    from resweep import register as register
    from resweep import scenario as scenario
    from resweep import scenes as scenes
    from resweep import sensors as sensors
    from resweep import simulate as simulate
    from resweep import viewer as viewer
    from resweep import worlds as worlds
    from resweep.build import HybridConfig as HybridConfig
    from resweep.build import MeshConfig as MeshConfig
    from resweep.build import SplatConfig as SplatConfig
    from resweep.build import SurfelConfig as SurfelConfig
    from resweep.build import VolumeConfig as VolumeConfig
    from resweep.build.pipeline import build as _build
    from resweep.calibrate import fit_sensor as fit_sensor
    from resweep.dataset.learning import learn_realism as learn_realism
    from resweep.dataset.replay import Replay as Replay
    from resweep.dataset.replay import replay as replay
    from resweep.errors import InputError as InputError
    from resweep.errors import MissingExtraError as MissingExtraError
    from resweep.errors import OutputError as OutputError
    from resweep.errors import ResweepError as ResweepError
    from resweep.errors import SettingsError as SettingsError
    from resweep.evaluation import Report as Report
    from resweep.evaluation import evaluate as evaluate
    from resweep.evaluation.holdout import holdout as holdout
    from resweep.io import load_poses as load_poses
    from resweep.io import load_sweep as load_sweep
    from resweep.io import open_log as open_log
    from resweep.io import write_cloud as write_cloud
    from resweep.io import write_log as write_log
    from resweep.io import write_sweep as write_sweep
    from resweep.label_mapping import map_labels as map_labels
    from resweep.label_mapping import relabel as relabel
    from resweep.labels import LabelSet as LabelSet
    from resweep.labels import load_labels as load_labels
    from resweep.learn.detector import learn_detector as learn_detector
    from resweep.learn.segmenter import learn_segmenter as learn_segmenter
    from resweep.learn.semantics import learn_semantics as learn_semantics
    from resweep.log import Log as Log
    from resweep.map import Map as Map
    from resweep.objects import ObjectConfig as ObjectConfig
    from resweep.objects import build_bank as build_bank
    from resweep.perception.judging import Judgement as Judgement
    from resweep.perception.judging import judge as judge
    from resweep.pose import Trajectory as Trajectory
    from resweep.pose import from_xyz_rpy as from_xyz_rpy
    from resweep.register import AlignConfig as AlignConfig
    from resweep.register import OdometryConfig as OdometryConfig
    from resweep.register.align import align as align
    from resweep.register.join import join as join
    from resweep.register.odometry import odometry as odometry
    from resweep.scenario import Actor as Actor
    from resweep.scenario import Asset as Asset
    from resweep.scenario import Bank as Bank
    from resweep.scenario import Scenario as Scenario
    from resweep.scenario import load_bank as load_bank
    from resweep.scenario import load_scenario as load_scenario
    from resweep.sensors import Sensor as Sensor
    from resweep.sensors import load_sensor as load_sensor
    from resweep.sensors import sensor_names as sensor_names
    from resweep.simulate import RealismModel as RealismModel
    from resweep.simulate import Retracer as Retracer
    from resweep.simulate import Simulator as Simulator
    from resweep.simulate import load_realism as load_realism
    from resweep.simulate.resimulate import resimulate as resimulate
    from resweep.sweep import BeamStatus as BeamStatus
    from resweep.sweep import Sweep as Sweep
    from resweep.worlds import Instances as Instances
    from resweep.worlds import Material as Material
    from resweep.worlds import Mesh as Mesh
    from resweep.worlds import Splats as Splats
    from resweep.worlds import StreamedWorld as StreamedWorld
    from resweep.worlds import Volumes as Volumes
    from resweep.worlds import World as World
    from resweep.worlds import load_world as load_world

    build = _build  # the function; importing it has named the room

__version__ = "0.1.0"

# Each public name and the module it lives in. Modules load on first use, so that the command line
# starts at once and a part of the package works without the libraries of another.
_PUBLIC = {
    "Actor": "resweep.scenario",
    "AlignConfig": "resweep.register",
    "Asset": "resweep.scenario",
    "Bank": "resweep.scenario",
    "BeamStatus": "resweep.sweep",
    "HybridConfig": "resweep.build",
    "InputError": "resweep.errors",
    "Instances": "resweep.worlds",
    "Judgement": "resweep.perception.judging",
    "LabelSet": "resweep.labels",
    "Log": "resweep.log",
    "Map": "resweep.map",
    "Material": "resweep.worlds",
    "Mesh": "resweep.worlds",
    "MeshConfig": "resweep.build",
    "MissingExtraError": "resweep.errors",
    "ObjectConfig": "resweep.objects",
    "OdometryConfig": "resweep.register",
    "OutputError": "resweep.errors",
    "RealismModel": "resweep.simulate",
    "Replay": "resweep.dataset",
    "Report": "resweep.evaluation",
    "ResweepError": "resweep.errors",
    "Retracer": "resweep.simulate",
    "Scenario": "resweep.scenario",
    "Sensor": "resweep.sensors",
    "SettingsError": "resweep.errors",
    "Simulator": "resweep.simulate",
    "SplatConfig": "resweep.build",
    "Splats": "resweep.worlds",
    "StreamedWorld": "resweep.worlds",
    "SurfelConfig": "resweep.build",
    "Sweep": "resweep.sweep",
    "Trajectory": "resweep.pose",
    "VolumeConfig": "resweep.build",
    "Volumes": "resweep.worlds",
    "World": "resweep.worlds",
    "align": "resweep.register",
    "build": "resweep.build",
    "build_bank": "resweep.objects",
    "evaluate": "resweep.evaluation",
    "fit_sensor": "resweep.calibrate",
    "from_xyz_rpy": "resweep.pose",
    "holdout": "resweep.evaluation.holdout",
    "join": "resweep.register",
    "judge": "resweep.perception.judging",
    "learn_detector": "resweep.learn.detector",
    "learn_realism": "resweep.dataset.learning",
    "learn_segmenter": "resweep.learn.segmenter",
    "learn_semantics": "resweep.learn.semantics",
    "load_bank": "resweep.scenario",
    "load_labels": "resweep.labels",
    "load_poses": "resweep.io",
    "load_realism": "resweep.simulate",
    "load_scenario": "resweep.scenario",
    "load_sensor": "resweep.sensors",
    "load_sweep": "resweep.io",
    "load_world": "resweep.worlds",
    "map_labels": "resweep.label_mapping",
    "odometry": "resweep.register",
    "open_log": "resweep.io",
    "relabel": "resweep.label_mapping",
    "replay": "resweep.dataset",
    "resimulate": "resweep.simulate",
    "sensor_names": "resweep.sensors",
    "write_cloud": "resweep.io",
    "write_log": "resweep.io",
    "write_sweep": "resweep.io",
}
_SUBMODULES = (
    "calibrate",
    "cluster",
    "dataset",
    "drive",
    "errors",
    "evaluation",
    "io",
    "learn",
    "map",
    "objects",
    "pose",
    "register",
    "scenario",
    "scenes",
    "sensors",
    "simulate",
    "viewer",
    "worlds",
)

__all__ = sorted([*_PUBLIC, "__version__"])


class _Package(ModuleType):
    """The package itself, whose public names stay what they are when a room of the same name is imported.

    Importing ``resweep.build.pipeline`` would otherwise put the room ``resweep.build`` in the place of the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PUBLIC and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # a type checker would take any misspelt name for Any

    def __getattr__(name: str) -> Any:
        if name in _PUBLIC:
            value = getattr(importlib.import_module(_PUBLIC[name]), name)
            globals()[name] = value
            return value
        if name in _SUBMODULES:
            return importlib.import_module(f"resweep.{name}")
        raise AttributeError(f"module 'resweep' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
