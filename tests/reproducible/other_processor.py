"""NumPy as on another processor: imported, it changes what functions give whose last bits depend on the processor.

With AVX-512 NumPy takes sines, powers and logarithms of arrays from another library; BLAS and LAPACK depend on the
processor everywhere. Here their results change by a millionth, so that it shows in float32 too, and unstable sorts
reverse ties. What is stored must not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_FUNCTIONS = {
    np: (
        *("arccos", "arcsin", "arctan", "arctan2", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "float_power", "log"),
        *("log10", "log1p", "log2", "logaddexp", "power", "sin", "sinh", "tan", "tanh"),
        *("convolve", "correlate", "dot", "inner", "matmul", "tensordot", "vdot"),
    ),
    np.linalg: ("cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "lstsq", "pinv", "qr", "solve", "svd"),
}


def _change(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = [_change(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    dtype = getattr(value, "dtype", None)
    return value * dtype.type(1 + 1e-6) if dtype is not None and dtype.kind in "fc" else value


def _changed(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return _change(function(*arguments, **options))

    return call


def _reverse_ties(argsort: Callable[..., Any]) -> Callable[..., Any]:
    def call(values: Any, axis: int = -1, kind: str | None = None, **options: Any) -> Any:
        if kind == "stable" or np.ndim(values) != 1:
            return argsort(values, axis=axis, kind=kind, **options)
        return len(values) - 1 - argsort(np.asarray(values)[::-1], kind="stable")

    return call


for _module, _names in _FUNCTIONS.items():
    for _name in _names:
        setattr(_module, _name, _changed(getattr(_module, _name)))
np.argsort = _reverse_ties(np.argsort)
