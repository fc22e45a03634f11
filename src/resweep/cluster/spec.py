"""Clusters as users describe them: one of dask's own deployers with its options, in YAML."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from resweep.config import Spec, read_spec
from resweep.errors import ResweepError, SettingsError, nearest_names
from resweep.quantities import Duration

# Deployers by name: the module that has each, and what pip installs it with.
_JOBQUEUE = ("dask_jobqueue", "dask-jobqueue")
DEPLOYERS = {
    "LocalCluster": ("distributed", "'resweep[cluster]'"),
    "SSHCluster": ("distributed", "'resweep[cluster]' asyncssh"),
    "HTCondorCluster": _JOBQUEUE,
    "LSFCluster": _JOBQUEUE,
    "MoabCluster": _JOBQUEUE,
    "OARCluster": _JOBQUEUE,
    "PBSCluster": _JOBQUEUE,
    "SGECluster": _JOBQUEUE,
    "SLURMCluster": _JOBQUEUE,
    "KubeCluster": ("dask_kubernetes.operator", "dask-kubernetes"),
}
_FIXED = ("LocalCluster", "SSHCluster")  # whose options say how many workers there are


class AdaptiveWorkers(Spec):
    """Workers that come and go with the work."""

    minimum: int = Field(default=1, ge=0, le=100_000)
    """Least number of workers."""
    maximum: int = Field(ge=1, le=100_000)
    """Largest number of workers."""

    @model_validator(mode="after")
    def _check(self) -> AdaptiveWorkers:
        if self.minimum > self.maximum:
            raise SettingsError("minimum", f"is {self.minimum}, more than the maximum of {self.maximum}")
        return self


class ClusterSpec(Spec):
    """A cluster that one of dask's deployers starts, and that ends with the command."""

    type: str
    """Deployer: SSHCluster, SLURMCluster, PBSCluster, SGECluster, LSFCluster, HTCondorCluster, OARCluster, MoabCluster, KubeCluster or LocalCluster."""  # noqa: E501
    options: dict[str, Any] = Field(default_factory=dict, max_length=1000)
    """Arguments of the deployer, as dask documents them."""
    workers: int | None = Field(default=None, ge=1, le=100_000)
    """Workers to ask for, where the options do not set it."""
    adapt: AdaptiveWorkers | None = None
    """Least and largest number of workers, in place of a fixed number."""
    wait_s: Duration = 600.0
    """Seconds to wait for the first worker, such as in the queue of a scheduler."""

    @model_validator(mode="after")
    def _check(self) -> ClusterSpec:
        if self.type not in DEPLOYERS:
            raise SettingsError("type", f"unknown deployer {self.type!r}; {nearest_names(self.type, DEPLOYERS)}")
        if self.workers is not None and self.adapt is not None:
            raise SettingsError("adapt", "takes no workers; give one of them")
        fixed = self.type in _FIXED
        if fixed and (self.workers is not None or self.adapt is not None):
            raise SettingsError(
                "workers" if self.adapt is None else "adapt", f"the options of {self.type} say how many"
            )
        if not fixed and self.workers is None and self.adapt is None:
            raise SettingsError("workers", "missing; give how many workers to ask for, or adapt")
        return self

    def start(self, where: str) -> Any:
        """The cluster, started; ``where`` names its file in errors."""
        module, packages = DEPLOYERS[self.type]
        try:
            deployer = getattr(importlib.import_module(module), self.type)
        except ImportError as error:
            raise ResweepError(
                f"{where}: type: {self.type} needs a package that is missing ({error}); "
                f"install it with: pip install {packages}"
            ) from error
        options = self.options
        if self.type == "LocalCluster" and not {"security", "protocol"} & set(options):
            options = {**options, "security": True}  # keys of its own: every user of this machine reaches its ports
        try:
            cluster = deployer(**options)
            if self.workers is not None:
                cluster.scale(self.workers)
            if self.adapt is not None:
                cluster.adapt(minimum=self.adapt.minimum, maximum=self.adapt.maximum)
        except (
            Exception
        ) as error:  # what a deployer raises can be anything: a wrong option, a missing program, a network
            reason = str(error) or type(error).__name__
            raise ResweepError(f"{where}: options: {self.type} cannot be started with them ({reason})") from error
        return cluster


def read_cluster(path: str | Path) -> ClusterSpec:
    """The cluster that a YAML file describes."""
    return read_spec(path, ClusterSpec)
