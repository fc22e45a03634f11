"""Models by what a user calls them: folders of ours, results of other programs, and functions that Python can import.

A further kind is a further row of `KINDS`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from resweep.errors import InputError
from resweep.files.untrusted import read_json
from resweep.log import Log
from resweep.perception.models import DetectionModel, ModelOfLogs, SegmentationModel
from resweep.perception.segmentation.callable_model import wrap_function
from resweep.perception.segmentation.labeller_model import LabellerModel
from resweep.perception.segmentation.result_files import list_results, open_results
from resweep.perception.segmentation.segmenter import load_segmenter
from resweep.perception.segmentation.segmenter_card import KIND as SEGMENTER
from resweep.segmentation.card import CARD

Model = SegmentationModel | DetectionModel | ModelOfLogs
_IMPORTABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_M = TypeVar("_M")


@dataclass(frozen=True)
class ModelKind:
    """A kind of models: what a user gives for one, whether ``text`` is that, and how it is opened."""

    what: str
    recognises: Callable[[str], bool]
    open: Callable[[str], Model]


def read_kind(path: str) -> str:
    """The kind of model that the card in a folder says; "" where there is no card."""
    file = Path(path) / CARD
    if not file.is_file():
        return ""
    data = read_json(file, "give the folder of a model that resweep learn wrote")
    kind = data.get("kind", "") if isinstance(data, dict) else ""
    return kind if isinstance(kind, str) else ""


def import_object(text: str) -> tuple[Any, Any]:
    """The module and the object in it that ``MODULE:NAME`` stands for, which is imported and so runs.

    Of a class, an object is made.
    """
    module_name, _, name = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
        found = found() if isinstance(found, type) else found
    except (ImportError, AttributeError) as error:
        raise InputError(f"model '{text}': cannot be imported ({error}); give MODULE:NAME of a function") from error
    except Exception as error:  # whatever the user's module raises
        raise InputError(f"model '{text}': its module fails ({type(error).__name__}: {error}); mend it") from error
    return module, found


def import_model(text: str) -> Model:
    """The model that ``MODULE:NAME`` stands for, which is imported and so runs.

    NAME is a model, a class of one, or a function; a function has the names of its ``classes`` as an attribute, or its
    module has them as ``CLASSES``, and the attribute ``takes`` is "sweep" if it is called with sweeps.
    """
    module, found = import_object(text)
    if isinstance(found, SegmentationModel | DetectionModel | ModelOfLogs):
        return found
    classes = getattr(found, "classes", getattr(module, "CLASSES", None))
    if classes is None:
        name = text.partition(":")[2]
        raise InputError(f"model '{text}': names no classes; set {name}.classes, or CLASSES in its module, to a list")
    return wrap_function(found, classes, getattr(found, "takes", "points"), f"model '{text}'")


KINDS: tuple[ModelKind, ...] = (
    ModelKind(
        "the folder that resweep learn segmenter wrote", lambda text: read_kind(text) == SEGMENTER, load_segmenter
    ),
    ModelKind(
        "the folder that resweep learn semantics wrote", lambda text: read_kind(text) == "semantics", LabellerModel.load
    ),
    ModelKind(
        "a folder of .label files",
        lambda text: Path(text).is_dir() and not read_kind(text) and bool(list_results(Path(text))),
        open_results,
    ),
    ModelKind(
        "MODULE:NAME of a function that Python can import",
        lambda text: not Path(text).exists() and _IMPORTABLE.fullmatch(text) is not None,
        import_model,
    ),
)


def load_model(path: str | Path) -> Model:
    """The model that a path or ``MODULE:NAME`` stands for, by `KINDS`; use `bind_model` before it reads a log.

    Example: ``model = resweep.perception.load_model("town.model")``
    """
    text = os.fspath(path)
    for kind in KINDS:
        if kind.recognises(text):
            return kind.open(text)
    known = "; or ".join(kind.what for kind in KINDS)
    if not Path(text).exists():
        raise InputError(f"model '{text}': does not exist; give {known}")
    has = read_kind(text) if Path(text).is_dir() else ""
    problem = f"is a model of kind '{has}', which judges nothing" if has else "is no model"
    raise InputError(f"model '{text}': {problem}; give {known}")


def bind_model(model: _M, log: Log) -> _M | SegmentationModel:
    """The model for the sweeps of a log, where it must know the log: its scale of intensities, its result files."""
    return model.for_log(log) if isinstance(model, ModelOfLogs) else model
