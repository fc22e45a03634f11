"""The one place that knows viser: a server, a scene around a centre, and what is put into it."""

from __future__ import annotations

import contextlib
import errno
import io
import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.optional import require
from resweep.pose import Array
from resweep.viewer.pages.latest import LatestTask
from resweep.viewer.scene.discs import POINT_SIZES, Sprites, split_by_size, write_glb
from resweep.viewer.scene.primitives import BrowserMesh

PORT = 8080
LOCALHOST = "127.0.0.1"
_PORTS = 100
_LINE_PX = 2.0


def find_port(host: str, port: int) -> int:
    """The first free port from ``port`` on; raises if none of a hundred is, or if the host is not this machine's."""
    for candidate in range(port, min(port + _PORTS, 65536)):
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((host, candidate))
            return candidate
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise ResweepError(
                    f"host '{host}': cannot be bound ({error.strerror}); give 127.0.0.1, or 0.0.0.0 for all"
                ) from error
        except UnicodeError as error:
            raise ResweepError(f"host '{host}': is no host name; give an address such as 127.0.0.1") from error
    raise ResweepError(f"ports {port} to {port + _PORTS - 1} are all in use; choose another port")


def name_address(host: str, port: int) -> str:
    """Where a browser on this machine finds what listens on a host and port."""
    return f"http://{'localhost' if host in (LOCALHOST, '0.0.0.0', '::', '::1') else host}:{port}"


class Stage:
    """A viser server whose scene is measured from ``centre`` (3,) in the world, so that float32 loses nothing.

    ``work`` runs what takes long, one task at a time. A stage that is ``led`` by another one shares its work and has
    no controls of its own. Port 0 is any free one.
    """

    def __init__(
        self,
        centre: Array,
        *,
        host: str = LOCALHOST,
        port: int = PORT,
        title: str = "Resweep",
        led: Stage | None = None,
    ) -> None:
        viser: Any = require("viser", "the viewer")
        self.centre = np.asarray(centre, np.float64)
        self.host, self.port = host, find_port(host, port)
        with contextlib.redirect_stdout(io.StringIO()):  # viser prints a banner of its own
            self.server: Any = viser.ViserServer(host=host, port=self.port, label=title, verbose=False)
        self.port = int(self.server.get_port())
        self.gui, self.scene = self.server.gui, self.server.scene
        # The share button would open a tunnel to the public.
        self.gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False, control_width="large")
        if led is None:
            self.gui.main_panel.dock_right()
        else:
            self.gui.main_panel.minimize()
            self.gui.add_markdown("the controls are in the other pane")  # an empty panel would show settings of viser
        self.gui.set_panel_label(title)
        self._led = led
        self.work: LatestTask = LatestTask(self.show_message) if led is None else led.work
        self._message: Any = None
        self._shown: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the page."""
        return name_address(self.host, self.port)

    def stop(self) -> None:
        """End the server and all of its threads."""
        if self._led is None:
            self.work.stop()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def show_message(self, text: str) -> None:
        """Show a message at the top of the panel; an empty one goes away."""
        if self._message is None:
            if not text:
                return
            self._message = self.gui.add_markdown("", order=-1)
        self._message.content = f"**{text}**" if text else ""

    def local(self, points: Array) -> Array:
        """World coordinates (..., 3) as float32 from the centre."""
        return np.asarray(np.asarray(points, np.float64) - self.centre, np.float32)

    def look(self, eye: Array, target: Array) -> None:
        """Where cameras of new clients stand, in the world, and what they look at."""
        self.server.initial_camera.position = tuple(self.local(eye).tolist())
        self.server.initial_camera.look_at = tuple(self.local(target).tolist())
        self.server.initial_camera.far = 5000.0

    def points(self, name: str, points: Array, rgb: Array, size: float, shift: Array | None = None) -> None:
        """Show points (n, 3) of the world, or nothing where there is none."""
        if len(points) == 0:
            self.remove(name)
            return
        local = self.local(points)
        if shift is not None:
            local = np.asarray(local + shift, np.float32)
        self._shown[name] = self.scene.add_point_cloud(
            name, local, rgb, point_size=size, point_shape="circle", precision="float32", point_shading="flat"
        )

    def lines(self, name: str, segments: Array, colour: tuple[int, int, int], shift: Array | None = None) -> None:
        """Show segments (n, 2, 3) of the world, or nothing where there is none."""
        if len(segments) == 0:
            self.remove(name)
            return
        local = self.local(segments) if shift is None else np.asarray(self.local(segments) + shift, np.float32)
        self._shown[name] = self.scene.add_line_segments(
            name, local, colour, thickness=_LINE_PX, thickness_units="screen"
        )

    def discs(self, name: str, shown: Sprites, eye: Array, as_points: bool = False) -> None:
        """Show discs, or points; those that look small from ``eye`` are points anyway.

        Coordinates are measured from the centre already.
        """
        if len(shown.centre) == 0:
            self.remove(name)
            return
        if as_points:
            large, size = None, float(np.clip(np.median(shown.radius), 0.02, 0.3))
            small = [(shown, size)]
        else:
            large, small = split_by_size(shown, eye)
        for at in range(POINT_SIZES):
            if at >= len(small):
                self.remove(f"{name}/points {at}")
                continue
            part, size = small[at]
            self._shown[f"{name}/points {at}"] = self.scene.add_point_cloud(
                f"{name}/points {at}",
                part.centre,
                part.rgb,
                point_size=size,
                point_shape="circle",
                precision="float32",
                point_shading="flat",
            )
        if large is None:
            self.remove(f"{name}/discs")
        else:
            self._shown[f"{name}/discs"] = self.scene.add_glb(
                f"{name}/discs", write_glb(large), cast_shadow=False, receive_shadow=False
            )

    def mesh(self, name: str, mesh: BrowserMesh) -> None:
        """Show a mesh, or copies of one; coordinates are measured from the centre already."""
        if mesh.position is None:
            trimesh: Any = __import__("trimesh")
            colours = np.column_stack([mesh.rgb, np.full(len(mesh.rgb), 255, np.uint8)])
            shaded = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_colors=colours, process=False)
            self._shown[name] = self.scene.add_mesh_trimesh(name, shaded)
            return
        assert mesh.wxyz is not None
        assert mesh.scale is not None
        colour = tuple(int(value) for value in np.median(mesh.rgb, axis=0))
        self._shown[name] = self.scene.add_batched_meshes_simple(
            name,
            mesh.vertices,
            mesh.faces,
            mesh.wxyz.astype(np.float32),
            mesh.position.astype(np.float32),
            batched_scales=mesh.scale.astype(np.float32),
            batched_colors=colour,
            side="double",
            cast_shadow=False,
        )

    def ellipsoids(self, name: str, centre: Array, wxyz: Array, half: Array, rgb: Array) -> None:
        """Show ellipsoids: ``centre`` (k, 3) from the centre, half axes (k, 3)."""
        if len(centre) == 0:
            self.remove(name)
            return
        trimesh: Any = __import__("trimesh")
        ball = trimesh.creation.icosphere(subdivisions=1)
        self._shown[name] = self.scene.add_batched_meshes_simple(
            name,
            np.asarray(ball.vertices, np.float32),
            np.asarray(ball.faces, np.uint32),
            wxyz.astype(np.float32),
            centre.astype(np.float32),
            batched_scales=half.astype(np.float32),
            batched_colors=rgb,
            opacity=0.55,
            cast_shadow=False,
        )

    def remove(self, name: str) -> None:
        """Show it no more, with all that lies under its name."""
        for key in [key for key in self._shown if key == name or key.startswith(f"{name}/")]:
            self._shown.pop(key).remove()

    def show(self, name: str, visible: bool) -> None:
        """Show or hide what has that name."""
        for key, handle in self._shown.items():
            if key == name or key.startswith(f"{name}/"):
                handle.visible = visible

    def on_click(self, answer: Callable[[Array, Array], None]) -> None:
        """Call ``answer(origin, direction)`` of each click's ray, measured from the centre, in the background."""

        @self.scene.on_click()  # type: ignore[untyped-decorator, unused-ignore]
        def _(event: Any) -> None:
            origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
            self.work.ask("click", lambda: answer(origin, direction))

    def on_camera_move(self, answer: Callable[[Array], None], moved_m: float = 3.0) -> None:
        """Call ``answer(eye)`` in the background when a camera has moved, measured from the centre."""
        last: list[Array] = [np.full(3, np.inf)]

        def look(camera: Any) -> None:
            eye = np.asarray(camera.position, np.float64)
            if np.isfinite(eye).all() and not np.linalg.norm(eye - last[0]) < moved_m:
                last[0] = eye
                self.work.ask("eye", lambda: answer(eye))

        @self.server.on_client_connect  # type: ignore[untyped-decorator, unused-ignore]
        def _(client: Any) -> None:
            client.camera.on_update(look)
