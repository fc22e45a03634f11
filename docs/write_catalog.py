"""Write docs/catalog.md and its pictures from the sensors that come with Resweep: python docs/write_catalog.py [--draw]

``--draw`` makes the pictures of the firing patterns anew as well, which takes a minute. A test holds the page to what
this writes, and asks for a picture of every sensor.
"""

from __future__ import annotations

import argparse
import re
from importlib import resources
from pathlib import Path

import numpy as np

from resweep.pose import Array
from resweep.sensors import Sensor, load_sensor, sensor_names
from resweep.sensors.firing import Firing, fire
from resweep.sensors.pattern_plot import angles_deg
from resweep.sensors.patterns import Rosette

DOCS = Path(__file__).parent
PAGE = DOCS / "catalog.md"
PICTURES = DOCS / "images" / "catalog"
DOTS = 30_000
ZOOM_DEG = 8.0

HEAD = """# The sensor catalog

What `resweep sensors` lists, with the pattern that each fires in one sweep. Colours are the time within it. Every
figure has its source in the sensor's YAML file (`resweep sensors NAME` prints it); what was not checked against the
maker's own sheet is said below its picture. A divergence of two numbers is across × up. This page is written by
`docs/write_catalog.py` from the catalog itself.

To change one or to write your own, see [a sensor of your own](own-sensor.md); every field is in [sensors](sensor.md).
"""


def render() -> str:
    """The page."""
    firings = {name: fire(load_sensor(name)) for name in sensor_names()}
    rows = [_row(load_sensor(name), firing) for name, firing in firings.items()]
    head = "| sensor | rings | pulses a sweep | sweeps a second | range | divergence | returns |"
    parts = [HEAD, "\n".join([head, "|---" * 7 + "|", *rows])]
    parts += [_section(load_sensor(name), firing) for name, firing in firings.items()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _row(sensor: Sensor, firing: Firing) -> str:
    beam = sensor.beam
    wide = [round(1e3 * beam.divergence_h_rad, 2), round(1e3 * beam.divergence_v_rad, 2)]
    cells = [
        f"[`{sensor.name}`](#{sensor.name})",
        "none" if isinstance(sensor.pattern, Rosette) else str(firing.n_rings),
        f"{len(firing):,}",
        f"{1.0 / sensor.sweep_period_s:.3g}",
        f"{sensor.range_min_m:g} to {sensor.range_max_m:g} m",
        " × ".join(f"{value:g}" for value in dict.fromkeys(wide)) + " mrad",
        sensor.receiver.mode,
    ]
    return "| " + " | ".join(cells) + " |"


def _section(sensor: Sensor, firing: Firing) -> str:
    _, elevation = angles_deg(firing.direction)
    lines = [
        f"## {sensor.title or sensor.name} {{ #{sensor.name} }}",
        sensor.description,
        f"![Firing pattern of {sensor.title or sensor.name}](images/catalog/{sensor.name}.webp)",
        f"`{sensor.name}`: {sensor.pattern.kind} pattern, elevations {elevation.min():.1f}° to {elevation.max():.1f}°"
        + (f", {firing.azimuth_step_deg:.3g}° in azimuth" if firing.azimuth_step_deg else "")
        + f"; range noise {1e3 * sensor.receiver.range_noise_sigma_m:g} mm.",
        _unchecked(sensor.name),
    ]
    return "\n\n".join(line for line in lines if line)


def _unchecked(name: str) -> str:
    """What the first lines of the sensor's file say of figures that were not checked."""
    text = (resources.files("resweep.sensors") / "catalog" / f"{name}.yaml").read_text(encoding="utf-8")
    comment = re.match(r"(?:#[^\n]*\n)*", text)
    words = " ".join(line.lstrip("# ").strip() for line in (comment[0] if comment else "").splitlines())
    return f"*{words}*" if words else ""


def draw(name: str) -> Path:
    """Write the picture of one sensor's firing pattern."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    firing = fire(load_sensor(name))
    azimuth, elevation = angles_deg(firing.direction)
    figure = Figure(figsize=(7.6, 2.5), layout="constrained")
    FigureCanvasAgg(figure)
    field, zoom = figure.subplots(1, 2, width_ratios=(2.6, 1.0))
    every = max(1, -(-len(firing) // DOTS))
    keep = _rank(firing) % every == 0
    middle = np.median(azimuth), np.median(elevation)
    near = (np.abs(azimuth - middle[0]) < ZOOM_DEG / 2) & (np.abs(elevation - middle[1]) < ZOOM_DEG / 2)
    for axes, rows, size in ((field, keep, 1.2), (zoom, near, 4.0)):
        axes.scatter(azimuth[rows], elevation[rows], c=firing.time[rows], s=size, cmap="viridis", linewidths=0)
        axes.set_xlabel("azimuth [°]", fontsize=7)
        axes.tick_params(labelsize=7)
    field.set_ylabel("elevation [°]", fontsize=7)
    field.set_title("one sweep" + (f", 1 of {every} pulses of each ring" if every > 1 else ""), fontsize=8)
    zoom.set_title(f"{ZOOM_DEG:g}° of it, pulse by pulse", fontsize=8)
    field.invert_xaxis()
    zoom.set_xlim(middle[0] + ZOOM_DEG / 2, middle[0] - ZOOM_DEG / 2)
    zoom.set_ylim(middle[1] - ZOOM_DEG / 2, middle[1] + ZOOM_DEG / 2)
    path = PICTURES / f"{name}.webp"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, pil_kwargs={"quality": 60, "method": 6})
    return path


def _rank(firing: Firing) -> Array:
    """The number (b,) of each pulse on its ring: blocks of lasers may fire in columns of their own."""
    order = np.lexsort((firing.time, firing.ring))
    _, first = np.unique(firing.ring[order], return_index=True)
    rank = np.empty(len(firing), np.int64)
    rank[order] = np.arange(len(firing)) - np.repeat(first, np.diff([*first, len(firing)]))
    return rank


def main() -> None:
    """Write the page, and the pictures if asked to."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("--draw", action="store_true", help="draw the pictures too")
    if options.parse_args().draw:
        for name in sensor_names():
            print(draw(name).name)
    PAGE.write_text(render(), encoding="utf-8")
    print(f"{PAGE.name}: written")


if __name__ == "__main__":
    main()
