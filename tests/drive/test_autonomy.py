"""Whatever an autonomy does, the run ends with a record: late, wrong, silent or in another process."""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import Any

import msgpack
import numpy as np
import pytest

from resweep import World
from resweep.drive import AnswerRules, GiveUp, Loop, LoopConfig, Observation, Rig, Run, SocketAutonomy, load_vehicle
from resweep.drive.autonomy.guard import parse_command
from resweep.drive.autonomy.messages import describe_observation, pack, read_observation, unpack
from resweep.drive.autonomy.sockets import serve
from resweep.errors import ResweepError

CAR = load_vehicle("passenger-car")


def drive(
    world: World, autonomy: Any, seconds: float = 2.0, rig: Rig | None = None, threads: int = 0, **rules: Any
) -> Run:
    config = LoopConfig(duration_s=seconds, answers=AnswerRules(**rules))
    return Loop(
        world, "passenger-car", rig or Rig(), autonomy, start=(0.0, 0.0, 0.0), speed_mps=5.0, config=config,
        threads=threads,
    ).run()  # fmt: skip


def kinds(run: Run) -> list[str]:
    return [event["kind"] for event in run.events]


@pytest.mark.parametrize(
    ("answer", "found", "problem"),
    [
        ((1.0, 0.1), (1.0, 0.1), ""),
        (np.array([1.0, 0.1]), (1.0, 0.1), ""),
        ({"acceleration_mps2": 1.0, "steering_rad": 0.1}, (1.0, 0.1), ""),
        ([9.0, -2.0], (3.0, -0.6), "acceleration_mps2 9 to 3, steering_rad -2 to -0.6"),
        ({"speed_mps": 1.0, "yaw_rate_radps": 0.1}, None, "got keys speed_mps, yaw_rate_radps"),
        ([float("nan"), 0.0], None, "got [nan, 0.0]"),
        ([1.0], None, "got shape (1,)"),
        ("brake", None, "got str"),
        (None, None, "got NoneType"),
        ([[1.0], "x"], None, "got [[1.0], 'x']"),
    ],
)
def test_commands_are_read_or_refused(answer: Any, found: Any, problem: str) -> None:
    command, text = parse_command(answer, CAR)
    assert command == found
    assert text.endswith(problem)


def test_an_error_brakes_and_the_run_goes_on(yard: World) -> None:
    def fails_once(observation: Observation) -> tuple[float, float]:
        if observation.step == 3:
            raise ValueError("lost")
        return (0.0, 0.0)

    run = drive(yard, fails_once)
    assert run.outcome == "time"
    assert kinds(run) == ["error", "end"]
    assert run.events[0]["detail"] == "ValueError: lost"
    assert run.decisions[3].command == "brake"
    # It braked for one period of 0.1 s.
    assert run.states[-1, 5] == pytest.approx(5.0 - 0.7, abs=1e-6)


def test_nonsense_is_an_error_and_the_last_command_can_be_held(yard: World) -> None:
    def nonsense(observation: Observation) -> Any:
        return (1.0, 0.0) if observation.step < 5 else (float("nan"), 0.0)

    run = drive(yard, nonsense, 1.0, on_error="hold")
    assert kinds(run) == ["error"] * 5 + ["end"]
    assert run.decisions[7].command == (1.0, 0.0)


def test_a_late_answer_is_held_over_and_dropped(yard: World) -> None:
    def slow(observation: Observation) -> tuple[float, float]:
        if observation.step == 2:
            time.sleep(0.35)
        return (0.1 * observation.step, 0.0)

    run = drive(yard, slow, 1.0, deadline_s=0.2)
    assert "late" in kinds(run)
    late = [
        at for at, decision in enumerate(run.decisions) if any(event["kind"] == "late" for event in decision.events)
    ]
    assert late[0] == 2
    assert run.decisions[2].command == run.decisions[1].command
    assert run.decisions[-1].command == (pytest.approx(0.9), 0.0)


def test_one_that_never_answers_ends_in_a_recorded_outcome(yard: World) -> None:
    release = threading.Event()
    run = drive(yard, lambda observation: release.wait(30.0), 9.0, timeout_s=0.05)
    release.set()
    assert run.outcome == "no-answer"
    assert kinds(run) == ["late", "given-up", "end"]
    assert run.events[1]["detail"] == "it never answers"
    assert run.states[-1, 5] == 0.0


def test_one_that_misses_its_deadline_too_often_is_given_up(yard: World) -> None:
    release = threading.Event()
    run = drive(yard, lambda observation: release.wait(30.0), 9.0, deadline_s=0.05, give_up_after=3)
    release.set()
    assert run.outcome == "no-answer"
    assert kinds(run) == ["late", "late", "late", "given-up", "end"]


@pytest.mark.parametrize("far", [False, True], ids=["here", "over a socket"])
def test_a_slow_answer_changes_nothing_unless_there_is_a_deadline(yard: World, rig: Rig, far: bool) -> None:
    """The drive's clock stands still while the autonomy thinks: slow or not, on one thread or two, the same bytes."""

    def turn(observation: Observation) -> tuple[float, float]:
        seen = sum(len(scan.points) for scan in observation.scans["lidar"])
        return (0.5, 0.1 if seen % 2 else -0.1)

    def slow(observation: Observation) -> tuple[float, float]:
        time.sleep(0.2)  # twice the period of the commands
        return turn(observation)

    quick = drive(yard, turn, 0.5, rig, threads=1)
    if far:
        link = SocketAutonomy()
        client = threading.Thread(target=serve, args=(slow, *link.address))
        client.start()
        again = drive(yard, link, 0.5, rig, threads=2)
        client.join(10.0)
        link.close()
    else:
        again = drive(yard, slow, 0.5, rig, threads=2)
    assert again.to_bytes() == quick.to_bytes()
    assert [one.range.tobytes() for one in again.log] == [one.range.tobytes() for one in quick.log]
    assert "late" in kinds(drive(yard, slow, 0.5, rig, deadline_s=0.05))


def test_one_that_fails_at_the_start_never_drives(yard: World) -> None:
    class Broken:
        def reset(self, mission: Any) -> None:
            raise RuntimeError("no model")

        def step(self, observation: Observation) -> tuple[float, float]:
            raise AssertionError("never called")

    run = drive(yard, Broken(), 9.0)
    assert run.outcome == "no-answer"
    assert run.events[0]["detail"] == "at the start: RuntimeError: no model"


def test_giving_up_is_an_answer(yard: World) -> None:
    def hopeless(observation: Observation) -> Any:
        raise GiveUp("no path")

    run = drive(yard, hopeless, 9.0)
    assert run.outcome == "gave-up"
    assert run.events[0]["detail"] == "no path"


def test_commands_beyond_the_limits_are_noted_once(yard: World) -> None:
    run = drive(yard, lambda observation: (99.0, 0.0), 1.0)
    assert kinds(run) == ["clipped", "end"]
    assert run.decisions[5].command == (3.0, 0.0)


def test_observations_survive_the_wire(yard: World, rig: Rig) -> None:
    loop = Loop(yard, "passenger-car", rig, start=(0.0, 0.0, 0.0), config=LoopConfig(duration_s=1.0))
    episode = loop.episode()
    episode.begin()
    observation = episode.step((0.0, 0.0))
    body = pack(describe_observation(observation))
    again = read_observation(unpack(body[4:]))
    (scan,), (copy,) = observation.scans["lidar"], again.scans["lidar"]
    for name in ("points", "time", "intensity", "ring", "T_vehicle_sensor"):
        np.testing.assert_array_equal(getattr(scan, name), getattr(copy, name))
    np.testing.assert_array_equal(observation.odometry.value, again.odometry.value)
    assert (again.step, again.time_s) == (1, 0.1)


def test_another_process_drives_over_a_socket_as_one_here(yard: World, rig: Rig) -> None:
    def follow(observation: Observation) -> tuple[float, float]:
        seen = sum(len(scan.points) for scan in observation.scans["lidar"])
        return (0.5, 0.1 if seen % 2 else -0.1)

    link = SocketAutonomy()
    missions: list[dict[str, Any]] = []
    outcomes: list[str] = []
    client = threading.Thread(target=lambda: outcomes.append(serve(follow, *link.address, missions.append)))
    client.start()
    run = drive(yard, link, 0.6, rig)
    client.join(10.0)
    link.close()
    here = drive(yard, follow, 0.6, rig)
    assert run.to_bytes() == here.to_bytes()
    assert outcomes == ["time"]
    assert missions[0]["command_fields"] == ["acceleration_mps2", "steering_rad"]


def read_frame(peer: socket.socket) -> Any:
    (size,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
    return msgpack.unpackb(peer.recv(size, socket.MSG_WAITALL))


def rude(link: SocketAutonomy, answers: list[bytes]) -> threading.Thread:
    """A client that is ready, and then answers given bytes and hangs up."""

    def work() -> None:
        with socket.create_connection(link.address) as peer:
            assert read_frame(peer)["type"] == "mission"
            peer.sendall(pack({"type": "ready"}))
            for answer in answers:
                read_frame(peer)
                peer.sendall(answer)

    client = threading.Thread(target=work)
    client.start()
    return client


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (struct.pack(">I", 3) + b"\xc1\xc1\xc1", "is no msgpack"),
        (struct.pack(">I", 2**31), "at most 1048576 are taken"),
        (pack({"type": "hello"}), "a message 'hello' in place of 'command'"),
        (pack({"type": "command", "step": 0, "command": "left"}), "got str"),
        (b"", "closed the connection"),
    ],
)
def test_rude_clients_do_not_lose_the_run(yard: World, answer: bytes, detail: str) -> None:
    link = SocketAutonomy()
    client = rude(link, [answer])
    run = drive(yard, link, 9.0, give_up_after=2, timeout_s=5.0)
    client.join(10.0)
    link.close()
    assert run.outcome == "no-answer"
    assert detail in run.events[0]["detail"]


@pytest.mark.parametrize(("connect_s", "timeout_s"), [(0.1, 9.0), (9.0, 0.1)])
def test_a_client_that_never_comes_is_a_recorded_outcome(yard: World, connect_s: float, timeout_s: float) -> None:
    link = SocketAutonomy(connect_s=connect_s)
    run = drive(yard, link, 9.0, timeout_s=timeout_s)
    link.close()
    assert run.outcome == "no-answer"
    detail = run.events[0]["detail"]
    assert "nothing connected to 127.0.0.1" in detail
    assert "within 0.1 s" in detail


def test_a_taken_port_is_named() -> None:
    link = SocketAutonomy()
    with pytest.raises(ResweepError, match="cannot listen on"):
        SocketAutonomy(port=link.address[1])
    link.close()
