"""How usable the viewer stays with a world of ten million primitives, and how soon a dragged sensor has swept.

The world is terrain of splats. Measured are the seconds until the primitives to show are chosen for an eye and written
for the browser, the bytes that are sent for them, and, with a headless chromium, the seconds until a page shows them.
Software rendering stands in for a graphics card there. The live sensor is dragged through a world of two million
splats: what counts is the time from the handle to the cloud that is sent, with one ray a beam, as while it moves.
Beside each time stands the processor time, which says more where other work runs on the machine.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.places import terrain_with_boxes
from benchmarks.report import Result, machine, main, table
from benchmarks.splat_trace import splats_on
from resweep.viewer.pages.stage import Stage
from resweep.viewer.pages.world_page import WorldPage
from resweep.viewer.scene.discs import split_by_size, write_glb
from resweep.viewer.scene.levels import BUDGET
from resweep.viewer.scene.primitives import ShownWorld
from resweep.worlds import World

TARGET_MS = 200.0  # from the handle of a sensor to its sweep
LIVE_SENSORS = ("velodyne-vlp-16", "velodyne-hdl-32e", "ouster-os1-128")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
_POINT_BYTES = 15


def measure_levels(world: World, start: np.ndarray, rounds: int) -> dict[str, float]:
    """Seconds to choose and to write the primitives to show as the eye moves, and the bytes of them."""
    shown = ShownWorld(world, start[:3, 3])
    shown.choose(np.zeros(3), "height")
    choosing, writing, busy, sizes, counts = [], [], [], [], []
    for step in range(rounds):
        eye = np.array([-22.0 + 4.0 * step, 0.0, 14.0])
        begin, cpu = time.perf_counter(), time.process_time()
        chosen = shown.choose(eye, "height")
        choosing.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        large, small = split_by_size(chosen, eye)
        sizes.append(len(write_glb(large)) + _POINT_BYTES * sum(len(part.centre) for part, _ in small))
        writing.append(time.perf_counter() - begin)
        busy.append(time.process_time() - cpu)
        counts.append(len(chosen.centre))
    return {
        "choose_s": statistics.median(choosing),
        "write_s": statistics.median(writing),
        "level_cpu_s": statistics.median(busy),
        "sent_mb": statistics.median(sizes) / 1e6,
        "shown": statistics.median(counts),
    }


def measure_page(world: World, start: np.ndarray) -> float | None:
    """Seconds from the address to a page that shows the world; None without a browser."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    stage = Stage(start[:3, 3], port=0)
    try:
        shown = ShownWorld(world, stage.centre)
        stage.look(start[:3, 3] + [-22.0, 0.0, 14.0], start[:3, 3])
        begin = time.perf_counter()
        eye = np.array([-22.0, 0.0, 14.0])
        stage.discs("/world", shown.choose(eye, "height"), eye)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=list(_FLAGS))
            page = browser.new_page(viewport={"width": 1000, "height": 600})
            page.goto(stage.url)
            while _brightness(page) < 0.2 and time.perf_counter() - begin < 240:
                page.wait_for_timeout(250)
            taken = time.perf_counter() - begin
            browser.close()
        return taken
    finally:
        stage.stop()


def _brightness(page: Any) -> float:
    """The share of the lower half of a page that shows anything."""
    import io

    from PIL import Image

    with Image.open(io.BytesIO(page.screenshot(timeout=120_000))) as image:
        return float((np.asarray(image.convert("RGB"))[300:, :600].max(axis=2) > 40).mean())


def measure_live(world: World, start: np.ndarray, rounds: int) -> dict[str, float]:
    """Milliseconds from the handle of a sensor to the cloud that is sent, by sensor."""
    stage = Stage(start[:3, 3], port=0)
    try:
        page = WorldPage(stage, world, start)
        page.live.value = False  # the handle is moved here, and each sweep counted
        stage.work.finish(600.0)

        def sweep() -> None:
            page.draw_sweep(quick=True)

        found = {}
        for name in LIVE_SENSORS:
            page.sensor.value = name
            stage.work.ask("sensor", page._change_sensor)
            stage.work.finish(600.0)
            taken, busy = [], []
            for step in range(rounds):
                page.handle.position = (0.3 * step, 0.0, 0.0)
                cpu = time.process_time()
                stage.work.ask("sweep", sweep)
                stage.work.finish(600.0)
                taken.append(page.latency_ms)
                busy.append(1e3 * (time.process_time() - cpu))
            found[f"live_ms_{name}"] = statistics.median(taken[1:])
            found[f"live_cpu_ms_{name}"] = statistics.median(busy[1:])
        page.stop()
        return found
    finally:
        stage.stop()


def run(fast: bool = False, threads: int = 0) -> Result:
    """Levels of detail, the page, and the live sensor."""
    mesh, poses = terrain_with_boxes(fast)
    large, live, rounds = (700_000, 20_000, 3) if fast else (10_000_000, 2_000_000, 8)
    start = np.array(poses[0], np.float64)
    result: Result = {"benchmark": "view", "fast": fast, **machine(), "primitives": large, "budget": BUDGET}
    result |= measure_live(World([splats_on(mesh, live, 1)]), start, rounds)
    world = World([splats_on(mesh, large, 1)])
    result |= measure_levels(world, start, rounds)
    result["page_s"] = None if fast else measure_page(world, start)
    return result


def tables(result: Result) -> list[Table]:
    """The world, and the sensors."""
    page = "-" if result["page_s"] is None else f"{result['page_s']:.1f}"
    names = ("choose_s", "write_s", "level_cpu_s", "sent_mb")
    row = [f"{result['shown']:,.0f}", *(f"{result[name]:.2f}" for name in names), page]
    heads = ["shown", "choose [s]", "write [s]", "both, processor [s]", "sent [MB]", "page [s]"]
    sensors = [[name, result[f"live_ms_{name}"], result[f"live_cpu_ms_{name}"]] for name in LIVE_SENSORS]
    return [
        table(f"A world of {result['primitives']:,} primitives", heads, [row]),
        table(
            f"A sensor that is dragged (target: {TARGET_MS:.0f} ms)",
            ["", "swept and sent [ms]", "processor [ms]"],
            sensors,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
