"""A contact sheet of an object bank: every asset in three-quarter view, coloured by intensity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.files import atomic_file
from resweep.pose import Array
from resweep.scenario import Asset, Bank
from resweep.viewer import palette
from resweep.worlds import Layer

MAX_ASSETS = 60  # assets on one sheet
_DPI = 110
_COLUMNS = 4
_PANEL = (3.6, 2.9)  # inches
_SHAPE = 1.5  # width of a panel's frame against its height
_MAP, _DARK = "viridis", 0.2  # the colours of intensity, without the darkest: the ground is dark
_ELEVATION = np.radians(22.0)
_LIGHT = np.array([0.35, 0.45, 0.82])
_CORNERS = 10  # of the polygon that a disc is drawn as
_QUARTERS = np.radians([35.0, -35.0, 145.0, -145.0])  # views from the front left, front right, rear left, rear right


def gallery(bank: Bank, path: str | Path, *, title: str | None = None) -> Path:
    """Draw the assets of a bank side by side as a PNG; the first `MAX_ASSETS` of them if there are more.

    Each is drawn from the corner from which most of it is known. Its footprint is outlined on the ground, with an
    arrow that points forward. Colours are intensities, relative to the 95 % quantile of the bank.
    """
    names = [name for category in bank.categories.values() for name in _sort_by_points(bank, category)][:MAX_ASSETS]
    if not names:
        raise ResweepError("gallery: the bank holds no asset, so there is nothing to draw")
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    head = title or f"{len(bank)} objects" + (f", the first {len(names)}" if len(names) < len(bank) else "")
    figure = palette.new_figure(max(_PANEL[0] * columns, 6.0), _PANEL[1] * rows + 0.9, head)
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    white = _find_white(bank, names)
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    for axes, name in zip(panels, names, strict=False):
        _draw(axes, bank[name], white)
    _add_scale(figure, panels.tolist(), white)
    target = Path(path)
    with atomic_file(target) as temporary:
        figure.savefig(temporary, dpi=_DPI, format="png", facecolor=palette.PAPER, metadata={"Software": None})
    return target


def _sort_by_points(bank: Bank, names: tuple[str, ...]) -> list[str]:
    return sorted(names, key=lambda name: (-bank.facts(name)["n_points"], name))


def _find_white(bank: Bank, names: list[str]) -> float:
    """The intensity that is drawn in the last colour: the 95 % quantile of the bank."""
    values = np.concatenate([_read_intensity(layer) for name in names for layer in bank[name].layers])
    return float(np.quantile(values, 0.95)) or 1.0


def _read_intensity(layer: Layer) -> Array:
    return np.asarray(layer.extra.get("intensity", layer.reflectance), np.float64)


def _draw(axes: Any, asset: Asset, white: float) -> None:
    """Draw one asset with its footprint, and its category and size below."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    towards = _choose_view(asset)
    across = np.array([-towards[1], towards[0], 0.0])
    across /= np.linalg.norm(across)
    screen = np.stack([across, np.cross(towards, across)], axis=1)
    polygons, colours, depth = [], [], []
    for layer in asset.layers:
        corners, normal = _list_facets(layer)
        facing = normal @ towards
        shown = np.flatnonzero(facing > 0.0) if layer.mesh is None else np.arange(len(corners))
        normal = np.where(facing[:, None] < 0.0, -normal, normal)
        light = 0.6 + 0.4 * np.clip(normal @ (_LIGHT / np.linalg.norm(_LIGHT)), 0.0, 1.0)
        rgb = colormaps[_MAP](_map_intensity(_read_intensity(layer), white))[:, :3] * light[:, None]
        depth.append(corners[shown].mean(axis=1) @ towards)
        polygons += list(corners[shown] @ screen)
        colours.append(rgb[shown])
    order = np.argsort(np.concatenate(depth), kind="stable")
    outline = _draw_footprint(axes, asset, screen)
    axes.add_collection(
        PolyCollection([polygons[at] for at in order], facecolors=np.concatenate(colours)[order], edgecolors="none")
    )
    _fit_frame(axes, np.concatenate([*polygons, outline]))
    length, width, height = asset.size_m
    origin = f"{asset.n_points:,} points" if asset.n_points else "mesh"
    mirrored = ", mirrored" if asset.mirrored else ""
    axes.set_title(asset.name, color=palette.INK, fontsize=11, loc="left", pad=3)
    below = f"{asset.category}  {length:.2f} × {width:.2f} × {height:.2f} m\n{origin}{mirrored}"
    place = {"transform": axes.transAxes, "va": "top", "ha": "left"}
    axes.text(0.0, -0.01, below, color=palette.INK, alpha=0.75, fontsize=8.5, **place)


def _choose_view(asset: Asset) -> Array:
    """The unit vector from the object to the eye: from the corner where most of it is known, from the front if even."""
    from resweep.scenario.coverage import interpolate_coverage

    known = [round(interpolate_coverage(asset.coverage, angle), 1) for angle in _QUARTERS]
    yaw = _QUARTERS[int(np.argmax(known))]
    level = np.cos(_ELEVATION)
    return np.array([level * np.cos(yaw), level * np.sin(yaw), np.sin(_ELEVATION)])


def _list_facets(layer: Layer) -> tuple[Array, Array]:
    """Polygons (n, c, 3) of a layer and their unit normals (n, 3): discs as many-cornered, faces as triangles."""
    mesh = layer.mesh
    if mesh is None:
        centre, normal, radius = layer.list_outline()
        side = np.where(np.abs(normal[:, 2:]) < 0.9, np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0]]))
        u = np.cross(side, normal)
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        angle = 2 * np.pi * np.arange(_CORNERS) / _CORNERS
        rim = np.cos(angle)[None, :, None] * u[:, None] + np.sin(angle)[None, :, None] * np.cross(normal, u)[:, None]
        return centre[:, None] + radius[:, None, None] * rim, normal
    corners = mesh.corners
    if layer.transforms is not None:  # what is drawn of copies is the first
        corners = corners @ layer.transforms[0, :, :3].T.astype(np.float64) + layer.transforms[0, :, 3]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return corners, normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)


def _fit_frame(axes: Any, points: Array) -> None:
    """Fit the axes around points (n, 2), with one scale and one shape of frame for all panels."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, 0.54 * (high - low)
    half = np.maximum(half, half[::-1] * [_SHAPE, 1 / _SHAPE])
    axes.set(xlim=middle[0] + half[0] * np.array([-1, 1]), ylim=middle[1] + half[1] * np.array([-1, 1]))
    axes.set_aspect("equal")
    axes.set_axis_off()


def _map_intensity(intensity: Array, white: float) -> Array:
    """The place of an intensity on the colour map, by its square root, since most surfaces are dark."""
    return _DARK + (1.0 - _DARK) * np.sqrt(np.clip(intensity / white, 0.0, 1.0))


def _draw_footprint(axes: Any, asset: Asset, screen: Array) -> Array:
    """The outline of the box on the ground, and an arrow from its front; returns its corners (n, 2)."""
    x, y = asset.size_m[0] / 2, asset.size_m[1] / 2
    outline = np.array([[x, y, 0], [-x, y, 0], [-x, -y, 0], [x, -y, 0], [x, y, 0]]) @ screen
    axes.plot(*outline.T, color=palette.FAINT, linewidth=1.0, zorder=0)
    tip = max(0.18 * asset.size_m[0], 0.15)
    arrow = np.array([[x, 0.35 * y, 0], [x + tip, 0, 0], [x, -0.35 * y, 0]]) @ screen
    axes.fill(*arrow.T, color=palette.FAINT, linewidth=0, zorder=0)
    return np.concatenate([outline, arrow])


def _add_scale(figure: Any, panels: list[Any], white: float) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    shown = ListedColormap(colormaps[_MAP](_map_intensity(np.linspace(0.0, white, 256), white)))
    drawn = ScalarMappable(Normalize(0.0, white), shown)
    palette.add_bar(figure, drawn, "intensity", ax=panels, orientation="vertical", fraction=0.012, pad=0.01)
