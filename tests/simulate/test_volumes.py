"""Permeable volumes: the kernels against NumPy, and the statistics of what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, kstest, norm

import resweep as rs
from resweep import _core
from resweep.errors import ResweepError
from resweep.sensors import Sensor
from resweep.simulate.philox import Purpose, words
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Mesh, Splats, Volumes, World
from resweep.worlds.layers.volumes import pack_symmetric
from tests.reference.permeable_volumes import count_beams, crossings, keyed_ranges, march, pass_probability

RANGE_MAX_M = 50.0


def some_volumes(count: int = 40, seed: int = 0, exposure: bool = False, **options: float) -> Volumes:
    rng = np.random.default_rng(seed)
    mean = np.stack([rng.uniform(6, 12, count), rng.uniform(-1, 1, count), rng.uniform(-1, 1, count)], axis=1)
    root = rng.normal(0, 0.15, (count, 3, 3))
    covariance = root @ root.transpose(0, 2, 1) + np.eye(3) * 0.03**2
    given = {"exposure_m": rng.uniform(0.05, 0.3, count)} if exposure else {}
    return Volumes(
        mean, pack_symmetric(covariance), rng.uniform(0.2, 0.95, count), label=np.arange(count), **given, **options
    )


def rays(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    direction = np.stack([np.ones(count), rng.uniform(-0.1, 0.1, count), rng.uniform(-0.1, 0.1, count)], axis=1)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.zeros((count, 3), np.float32), direction.astype(np.float32)


def scanner(n: int, elevation_deg: tuple[float, ...] = (-2.0, 0.0, 2.0), **beam: object) -> Sensor:
    """A sensor that fires n columns around, without noise."""
    return Sensor.model_validate(
        {
            "name": "bare",
            "range_max_m": RANGE_MAX_M,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360.0 / n,
                "channels": {"elevation_deg": list(elevation_deg)},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single", **beam},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": 0.0, "range_quantisation_m": 0.0},
        }
    )


def draw_ahead(world: World, pulses: int, seed: int, **beam: object) -> np.ndarray:
    """The range of many pulses along x, infinite where nothing returns: 500 in each sweep, each a draw of its own."""
    simulator = rs.Simulator(world, scanner(4, (0.0,) * 500, **beam), seed=seed)
    drawn = []
    for index in range(pulses // 500):
        sweep = simulator.sweep(np.eye(4), index=index)
        ranges = np.full(sweep.n_beams, np.inf)
        ranges[sweep.beam] = sweep.range
        drawn.append(ranges[sweep.beam_direction[:, 0] > 0.9999])
    return np.concatenate(drawn)


@pytest.mark.parametrize("exposure", [False, True])
def test_the_tracer_draws_what_the_reference_draws(exposure: bool) -> None:
    volumes = some_volumes(exposure=exposure)
    sweep = rs.Simulator(World([volumes]), scanner(4000), seed=3).sweep(np.eye(4), index=2)
    word = words(3, 2, np.arange(sweep.n_beams), 0, Purpose.VOLUMES).astype(np.uint64)
    keys = (word[:, 1] << np.uint64(32)) | word[:, 0]
    forward = np.flatnonzero(np.abs(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0])) < 0.2)
    origins = np.zeros((len(forward), 3), np.float32)
    expected = keyed_ranges(volumes, origins, sweep.beam_direction[forward], keys[forward], RANGE_MAX_M)
    ranges = np.full(sweep.n_beams, np.inf)
    ranges[sweep.beam] = sweep.range
    equal = np.isclose(ranges[forward], expected, atol=1e-3) | (np.isinf(ranges[forward]) & np.isinf(expected))
    # Single precision moves a draw across its threshold, or a crossing to the next cell, once in a while.
    assert equal.mean() > 0.995
    assert 0.1 < np.isfinite(expected).mean() < 0.95


def test_drawn_ranges_have_the_distribution_of_a_march() -> None:
    volumes = some_volumes(12)
    origin, direction = np.zeros((1, 3), np.float32), np.array([[1, 0, 0]], np.float32)
    count = 20_000
    reference = march(
        volumes, origin.repeat(count, 0), direction.repeat(count, 0), RANGE_MAX_M, np.random.default_rng(5)
    )
    ranges = draw_ahead(World([volumes]), count, seed=1)
    assert len(ranges) == count
    edges = np.concatenate([np.quantile(reference[np.isfinite(reference)], np.linspace(0, 1, 21))[1:-1], [1e6, np.inf]])
    table = [np.bincount(np.searchsorted(edges, values), minlength=21)[:21] for values in (reference, ranges)]
    table = np.array(table)[:, np.sum(table, axis=0) > 0]
    assert chi2_contingency(table).pvalue > 0.001
    worse = np.array([table[0], np.roll(table[1], 1)])
    assert chi2_contingency(worse).pvalue < 0.001  # the test detects a wrong distribution


def test_a_lone_volume_returns_its_gaussian() -> None:
    covariance = np.array([[0.04, 0.01, 0, 0.02, 0, 0.03]])
    volumes = Volumes([[10.0, 0, 0]], covariance, 0.25, tau=2.0)
    at = crossings(volumes, np.zeros((1, 3)), np.array([[1.0, 0, 0]]))
    ranges = draw_ahead(World([volumes]), 4000, seed=2)
    returns = ranges[np.isfinite(ranges)]
    assert len(returns) / 4000 == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 4000))
    assert kstest(returns, norm(at.centre[0, 0], at.sigma[0, 0]).cdf).pvalue > 0.001


@pytest.mark.parametrize("exposure", [False, True])
def test_beams_are_counted_as_the_reference_counts(exposure: bool) -> None:
    volumes = some_volumes(60, exposure=exposure)
    origins, directions = rays(3000)
    rng = np.random.default_rng(4)
    lengths = rng.uniform(4, 14, 3000).astype(np.float32)
    returned = rng.random(3000) < 0.8
    lengths[~returned] = 40.0
    counter = _core.BeamCounter(volumes.lower())
    counter.add(origins[:1000], directions[:1000], lengths[:1000], returned[:1000], 0.002)
    counter.add(origins[1000:], directions[1000:], lengths[1000:], returned[1000:], 0.002, threads=1)
    passed, stopped, hit = count_beams(volumes, origins, directions, lengths, returned, 0.002)
    assert np.abs(counter.passed().astype(int) - passed).max() <= 2  # a beam at the very edge of a volume
    assert np.abs(counter.stopped().astype(int) - stopped).max() <= 2
    assert counter.passed().sum() == pytest.approx(passed.sum(), rel=1e-3)
    assert counter.stopped().sum() == pytest.approx(stopped.sum(), rel=2e-3)
    seen = passed + stopped > 20
    assert counter.exposure()[seen] == pytest.approx(hit[seen], rel=0.02)
    assert stopped.sum() > 100


def test_beams_count_only_up_to_where_they_ended() -> None:
    volumes = Volumes([[5.0, 0, 0], [10.0, 0, 0]], [[0.01, 0, 0, 0.01, 0, 0.01]] * 2, 0.5)
    counter = _core.BeamCounter(volumes.lower())
    one = np.array([[1, 0, 0]], np.float32)
    for length, returned in ((3.0, True), (5.05, True), (10.0, True), (12.0, True), (50.0, False)):
        counter.add(0 * one, one, np.array([length], np.float32), np.array([returned]))
    assert counter.passed().tolist() == [3, 2]
    assert counter.stopped().tolist() == [1, 1]


def test_what_is_expected_adds_up() -> None:
    volumes = Volumes([[5.0, 0, 0], [10.0, 0, 0]], [[0.01, 0, 0, 0.01, 0, 0.01]] * 2, [0.7, 0.4], label=[3, 4])
    scene = make_native_scene(World([volumes]))
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.02, "clutter": 0.0, "window": 0.3, "slope": 0.0, "range_max": 50.0}
    expected = scene.predict(0 * one, one, np.array([np.inf], np.float32), **how)
    assert expected["returns"][0] == pytest.approx(1 - 0.7 * 0.4)
    assert expected["range"][0] == pytest.approx(10.0)
    assert expected["label"][0] == 4
    assert expected["probability"][0] == pytest.approx(0.7 * 0.6 * (1 - 2 * norm.cdf(-0.3 / np.hypot(0.1, 0.02))))
    assert expected["log_likelihood"][0] == pytest.approx(np.log(0.7 * 0.4), rel=1e-5)
    measured = np.array([4.9], np.float32)
    density = 0.3 * norm(5, np.hypot(0.1, 0.02)).pdf(measured[0])
    assert scene.predict(0 * one, one, measured, **how)["log_likelihood"][0] == pytest.approx(np.log(density), rel=1e-4)


def test_a_surface_stops_what_volumes_let_pass() -> None:
    volumes = Volumes([[5.0, 0, 0], [15.0, 0, 0]], [[0.01, 0, 0, 0.01, 0, 0.01]] * 2, 0.6)
    wall = Splats([[10.0, 0, 0]], [[-1.0, 0, 0]], [3.0], label=9, depth=5)
    world = World([volumes, wall])
    simulator = rs.Simulator(world, scanner(4, (0.0,) * 250), seed=2)
    sweeps = [simulator.sweep(np.eye(4), index=i) for i in range(4)]
    kinds = np.concatenate([sweep.extra["primitive"] for sweep in sweeps])
    ranges = np.concatenate([sweep.range for sweep in sweeps])
    assert ranges.max() < 10.1
    assert set(np.unique(kinds)) == {2, 3}
    assert (kinds[ranges > 9.9] == 2).all()
    one = np.array([[1, 0, 0]], np.float32)
    expected = make_native_scene(world).predict(
        0 * one, one, None, sigma=0.02, clutter=0.0, window=0.1, slope=0.0, range_max=50.0
    )
    assert expected["range"][0] == pytest.approx(10.0)
    assert expected["probability"][0] == pytest.approx(0.6, abs=1e-3)
    assert expected["kind"][0] == 2


def test_a_range_is_the_mean_of_what_lies_within_the_window_of_the_likeliest() -> None:
    """Two leaves 6 cm apart are one return, and what is a metre behind them is another."""
    leaf = [1e-4, 0, 0, 0.01, 0, 0.01]
    volumes = Volumes([[5.0, 0, 0], [5.06, 0, 0], [6.0, 0, 0]], [leaf] * 3, [0.5, 0.2, 0.5])
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.001, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0}
    found = make_native_scene(World([volumes])).predict(0 * one, one, None, **how)
    assert found["probability"][0] == pytest.approx(0.5 + 0.5 * 0.8, abs=1e-3)
    assert found["range"][0] == pytest.approx(5.0 + 0.06 * 0.4 / 0.9, abs=1e-3)


def test_of_places_nearly_as_likely_the_one_among_others_is_taken() -> None:
    """A bush of many leaves stands 10 m behind one leaf, which is a little likelier than each leaf of the bush."""
    leaf = [1e-4, 0, 0, 0.01, 0, 0.01]
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.001, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0}

    def likeliest(alone: float) -> float:
        bush = [[15.0 + 0.3 * at, 0, 0] for at in range(3)]
        volumes = Volumes([[5.0, 0, 0], *bush], [leaf] * 4, [1 - alone, 0.7, 0.6, 0.5])
        return float(make_native_scene(World([volumes])).predict(0 * one, one, None, **how)["range"][0])

    assert likeliest(0.25) == pytest.approx(15.0, abs=0.7)  # each leaf of the bush: 0.21 to 0.22
    assert likeliest(0.40) == pytest.approx(5.0, abs=0.1)


def test_of_places_that_are_likely_alike_the_farthest_is_taken() -> None:
    leaf = [1e-4, 0, 0, 0.01, 0, 0.01]
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.001, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0}

    def likeliest(front: float) -> float:
        volumes = Volumes([[5.0, 0, 0], [15.0, 0, 0]], [leaf] * 2, [1 - front, 1e-6])
        return float(make_native_scene(World([volumes])).predict(0 * one, one, None, **how)["range"][0])

    assert likeliest(0.51) == pytest.approx(15.0, abs=0.1)
    assert likeliest(0.53) == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize(("apart_m", "expected_m"), [(2.0, 15.0), (4.0, 5.0)])
def test_what_lies_near_speaks_for_a_place(apart_m: float, expected_m: float) -> None:
    """Ends in front with 0.4, and with 0.35 and 0.25 behind: where these are near each other, one of them is taken."""
    leaf = [1e-4, 0, 0, 0.01, 0, 0.01]
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.001, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0}
    passes = [0.6, 1 - 0.35 / 0.6, 1e-6]
    volumes = Volumes([[5.0, 0, 0], [15.0, 0, 0], [15.0 + apart_m, 0, 0]], [leaf] * 3, passes)
    found = make_native_scene(World([volumes])).predict(0 * one, one, None, **how)
    assert found["range"][0] == pytest.approx(expected_m, abs=0.1)


@pytest.mark.parametrize("angle_deg", [90.0, 30.0, 5.0])
def test_a_surface_spreads_the_ranges_of_grazing_beams(angle_deg: float) -> None:
    sine = np.sin(np.radians(angle_deg))
    plane = Splats([[10.0, 0, 0]], [[-sine, 0, np.cos(np.radians(angle_deg))]], [3.0])
    one = np.array([[1, 0, 0]], np.float32)
    how = {"sigma": 0.02, "clutter": 0.0, "window": 0.1, "slope": 0.0, "range_max": 50.0, "height": 0.005}
    measured = np.array([10.03], np.float32)
    found = make_native_scene(World([plane])).predict(0 * one, one, measured, **how)["log_likelihood"][0]
    assert found == pytest.approx(norm(10.0, np.hypot(0.02, 0.005 / sine)).logpdf(measured[0]), abs=1e-3)


def test_rays_of_a_pulse_meet_the_same_leaf_if_they_are_near() -> None:
    def spread(element_m: float) -> float:
        volumes = Volumes([[10.0, 0, 0]], [[0.04, 0, 0, 0.04, 0, 0.04]], 0.5, tau=1.0, element_m=element_m)
        spot = {"rays": "random", "n_rays": 32, "divergence_h_rad": 0.003, "divergence_v_rad": 0.003}
        return float(np.isfinite(draw_ahead(World([volumes]), 1000, seed=5, **spot)).mean())

    shared, apart = spread(float("inf")), spread(1e-4)
    assert shared == pytest.approx(0.5, abs=0.1)  # all rays of the pulse draw as one
    assert apart > 0.95  # one of 32 is stopped almost surely


def test_the_chance_to_pass_falls_with_path_and_width() -> None:
    long = Volumes([[10.0, 0, 0]], [[0.16, 0, 0, 0.01, 0, 0.01]], 0.5, exposure_m=[0.1], element_m=0.02)
    origins = np.array([[0, 0, 0], [10, -9, 0]], np.float32)
    directions = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    chance = pass_probability(long, crossings(long, origins, directions))[:, 0]
    assert chance == pytest.approx([0.5**4, 0.5])  # σ_t is 0.4 m along it and 0.1 m across
    wide = pass_probability(long, crossings(long, origins, directions), slope=0.002)[0, 0]
    assert wide == pytest.approx(0.5 ** (4 * (1 + 0.02 / 0.02) ** 2))


def test_same_bytes_on_any_threads() -> None:
    volumes = some_volumes(200)
    ground = Mesh(
        np.array([[-50, -50, -1.5], [50, -50, -1.5], [50, 50, -1.5], [-50, 50, -1.5]], np.float32),
        np.array([[0, 1, 2], [0, 2, 3]], np.uint32),
    )
    world = World([volumes, ground])
    sweeps = [rs.Simulator(world, "velodyne-vlp-16", seed=4, threads=n).sweep(np.eye(4)) for n in (1, 2, 3)]
    for other in sweeps[1:]:
        assert other.range.tobytes() == sweeps[0].range.tobytes()
        assert other.extra["primitive"].tobytes() == sweeps[0].extra["primitive"].tobytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tau": 0.0}, "tau is 0.0"),
        ({"tau": -1.0}, "tau is -1.0"),
        ({"permeability": 1.5}, "permeability must be from 0 to 1"),
        ({"covariance": [[0.0, 0, 0, 0.01, 0, 0.01]]}, "positive definite"),
        ({"covariance": [[np.nan, 0, 0, 0.01, 0, 0.01]]}, "NaN"),
        ({"mean": np.zeros((0, 3)), "covariance": np.zeros((0, 6)), "permeability": []}, "there is none"),
        ({"exposure_m": [0.0]}, "exposure_m must be above 0"),
        ({"element_m": 0.0}, "element_m is 0.0"),
    ],
)
def test_wrong_volumes_say_what_is_wrong(change: dict[str, object], says: str) -> None:
    good = {"mean": [[5.0, 0, 0]], "covariance": [[0.01, 0, 0, 0.01, 0, 0.01]], "permeability": 0.5}
    with pytest.raises(ResweepError, match=says):
        Volumes(**{**good, **change})


def test_volumes_are_saved_and_read_again(tmp_path: object) -> None:
    volumes = some_volumes(exposure=True)
    world = World([volumes], origin=(1000.0, 2000.0, 30.0))
    world.save(f"{tmp_path}/w.world")
    again = rs.load_world(f"{tmp_path}/w.world").layers[0]
    assert isinstance(again, Volumes)
    for name in ("mean", "covariance", "permeability", "exposure_m", "label"):
        assert np.array_equal(getattr(again, name), getattr(volumes, name))
    assert (again.tau, again.element_m) == (volumes.tau, volumes.element_m)


def test_moving_volumes_moves_what_is_measured() -> None:
    volumes = some_volumes(exposure=True)
    motion = rs.pose.from_xyz_rpy(1.0, 2.0, 0.5, yaw=1.0)
    origins, directions = rays(200)
    moved = volumes.moved(motion)
    before = crossings(volumes, origins, directions)
    after = crossings(moved, origins @ motion[:3, :3].T + motion[:3, 3], directions @ motion[:3, :3].T)
    assert after.centre == pytest.approx(before.centre, abs=1e-3)
    assert after.sigma == pytest.approx(before.sigma, rel=1e-3)
