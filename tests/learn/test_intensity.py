"""Intensities are drawn from what was learned: their steps, their spread, and what of it belongs to surfaces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_1samp, uniform

from resweep import _core
from resweep.calibrate.scatter.step import find_step
from resweep.errors import ResweepError
from resweep.learn.drop_patches import estimate_patches, estimate_volume_drops
from resweep.learn.examples import select_beams
from resweep.learn.intensity_bins import (
    estimate_textures,
    find_bins,
    find_levels,
    find_neighbours,
    make_intensity_model,
)
from resweep.learn.pair_noise import estimate_noise
from resweep.learn.scatter_levels import keep_scatter, pack_scatter
from resweep.learn.scores import js_divergence, score_shares
from resweep.normal import find_normal, find_share
from resweep.sensor_scatter import Texture
from resweep.simulate.beam_channels import CHANNELS, BeamChannels, number_beams
from resweep.simulate.intensity import IntensityModel
from resweep.simulate.noise import draw_noise, find_sigma
from resweep.simulate.raydrop import DropPatches, draw_drop_levels, draw_patches
from resweep.simulate.realism.model_card import NetworkCard


@pytest.mark.parametrize("step", [0.01, 1.0, 1 / 255, 1 / 65535])
def test_the_step_of_a_sensor_is_found(step: float) -> None:
    levels = np.random.default_rng(0).integers(0, 300, 20_000)
    assert find_step((levels * step).astype(np.float32)) == pytest.approx(step, rel=1e-3)


def test_continuous_values_have_no_step() -> None:
    random = np.random.default_rng(0)
    assert find_step(random.random(20_000).astype(np.float32)) == 0.0
    assert find_step(random.random(3_000)) == 0.0
    assert find_step(np.zeros(100)) == 0.0


def test_drawn_intensities_have_the_recorded_levels_and_shares() -> None:
    """A fifth of the returns has intensity 0, the rest is counted in hundredths."""
    random = np.random.default_rng(1)
    true = np.where(random.random(200_000) < 0.2, 0, np.round(random.beta(2, 5, 200_000), 2)).astype(np.float32)
    light, edges = make_intensity_model(true)
    assert light.step == 0.01
    shares = np.bincount(find_bins(true, edges), minlength=len(edges)) / len(true)
    drawn = light.draw(np.repeat(shares[None], len(true), axis=0), random.random(len(true)))
    np.testing.assert_allclose(drawn / 0.01, np.round(drawn / 0.01), atol=1e-3)
    assert abs(float((drawn == 0).mean()) - float((true == 0).mean())) < 0.01
    counts = [np.bincount(np.round(values * 100).astype(int), minlength=101) for values in (drawn, true)]
    assert js_divergence(*(count.astype(float) for count in counts)) < 0.005
    assert abs(float(light.average(shares[None])[0]) - float(true.mean())) < 1e-3


def test_levels_are_uniform_where_shares_are_right() -> None:
    random = np.random.default_rng(2)
    true = np.round(random.beta(2, 5, 20_000), 2)
    light, edges = make_intensity_model(true)
    place = find_bins(true, edges)
    shares = np.repeat((np.bincount(place, minlength=len(edges)) / len(true))[None], len(true), axis=0)
    assert ks_1samp(find_levels(shares, true, edges, light, random), uniform.cdf).pvalue > 1e-3
    lopsided = shares * np.linspace(1.0, 3.0, len(edges))
    assert ks_1samp(find_levels(lopsided, true, edges, light, random), uniform.cdf).pvalue < 1e-6


def make_beams(count: int) -> BeamChannels:
    """Beams of one laser, one after the other."""
    turn = (np.arange(count, dtype=np.float32) + 0.5) / count
    return BeamChannels(np.zeros((count, len(CHANNELS))), turn, np.zeros(count, np.int16), np.ones(count, bool))


def test_beams_side_by_side_resemble_each_other() -> None:
    light = IntensityModel(knots=[[0, 1], [1, 2]], means=[0.5, 1.5], ring_correlation=0.7)
    beams, points = make_beams(40_000), np.zeros((40_000, 3))
    level = light.draw_levels(beams, points, seed=3, index=0)
    normal = find_normal(level)
    for apart in (1, 2, 4):
        assert np.corrcoef(normal[:-apart], normal[apart:])[0, 1] == pytest.approx(0.7**apart, abs=0.03)
    assert ks_1samp(level[::20], uniform.cdf).pvalue > 1e-3
    later = light.draw_levels(beams, points, seed=3, index=1)
    assert abs(np.corrcoef(level, later)[0, 1]) < 0.03
    shuffled = replace(beams, turn=beams.turn[::-1].copy())
    assert light.draw_levels(shuffled, points, seed=3, index=0).tobytes() != level.tobytes()


def test_levels_tell_steps_of_a_bin_apart() -> None:
    """What is drawn at the level of an intensity is that intensity again, to a step."""
    random = np.random.default_rng(6)
    true = np.where(random.random(20_000) < 0.2, 0, np.round(random.beta(2, 5, 20_000), 2))
    light, edges = make_intensity_model(true)
    shares = np.repeat((np.bincount(find_bins(true, edges), minlength=len(edges)) / len(true))[None], len(true), axis=0)
    again = light.draw(shares, find_levels(shares, true, edges, light, random))
    assert np.quantile(np.abs(again - true), 0.98) < 0.0101
    assert np.abs(again - true).max() < 0.1


def test_recorded_scatter_is_replayed(make_made_up: Any) -> None:
    """Neighbours alternate as they did, levels stay uniform, and a bias of one laser is not kept."""
    pairs = make_made_up(3)
    rows = [np.flatnonzero(pair.channels.occupied) for pair in pairs]
    levels = []
    for pair, own in zip(pairs, rows, strict=True):
        normal = np.random.default_rng(7).normal(0, 0.5, len(own)) + (-1.0) ** number_beams(pair.channels)[own]
        levels.append(find_share(normal / np.sqrt(1.25) + 0.8 * (pair.channels.laser[own] == 5)))
    kept = keep_scatter(pairs, rows, levels)
    assert kept.dtype == np.uint8
    assert kept.shape[:2] == (3, pairs[0].layout.rings)
    light = IntensityModel(knots=[[0, 1], [1, 2]], means=[0.5, 1.5])
    channels = pairs[0].channels
    drawn = [light.draw_levels(channels, pairs[0].hit, kept, seed=2, index=at) for at in (0, 0, 1)]
    assert drawn[0].tobytes() == drawn[1].tobytes() != drawn[2].tobytes()
    assert ks_1samp(drawn[0][::7], uniform.cdf).pvalue > 1e-3
    assert drawn[0][channels.laser == 5].mean() == pytest.approx(0.5, abs=0.05)
    left, right = find_neighbours(pairs[0])
    normal = find_normal(drawn[0])
    assert np.corrcoef(normal[left], normal[right])[0, 1] < -0.5


def test_damaged_scatter_is_refused(tmp_path: Path) -> None:
    data, card = pack_scatter(np.zeros((2, 3, 4), np.uint8))
    (tmp_path / card.file).write_bytes(data)
    assert card.read(tmp_path).shape == (2, 3, 4)
    with pytest.raises(ResweepError, match="holds no levels of 5 sweeps"):
        card.model_copy(update={"sweeps": 5}).read(tmp_path)
    (tmp_path / card.file).write_bytes(data[:-1])
    with pytest.raises(ResweepError, match=r"scatter.npy: is damaged, or not that of its card"):
        card.read(tmp_path)
    (tmp_path / card.file).unlink()
    with pytest.raises(ResweepError, match=r"scatter.npy: cannot be read"):
        card.read(tmp_path)


def test_drops_that_come_in_patches_are_drawn_in_patches(make_made_up: Any) -> None:
    """How often neighbours share a draw is recovered from which of them were dropped together."""
    true = DropPatches(along=0.8, across=0.5)
    pairs, chances = [], []
    for at, pair in enumerate(make_made_up(24)):
        probability = np.full(len(pair.channels), 0.2, np.float32)
        level = draw_drop_levels(pair.channels, true, seed=5, index=100 + at)
        pairs.append(replace(pair, returned=pair.channels.occupied & (level >= probability)))
        chances.append(probability)
    found = estimate_patches(pairs, chances)
    assert found.along == pytest.approx(0.8, abs=0.07)
    assert found.across == pytest.approx(0.5, abs=0.12)
    alone = [
        replace(pair, returned=pair.channels.occupied & (np.random.default_rng(0).random(len(pair.hit)) > 0.2))
        for pair in pairs
    ]
    none = estimate_patches(alone, chances)
    assert max(none.along, none.across) < 0.15


def test_volumes_drop_what_simulation_does_not_pass_by_chance(make_made_up: Any) -> None:
    """Half of the beams pass a hedge, in reality others than in simulation: as many return with drops as did."""
    pairs, chances = [], []
    for at, pair in enumerate(make_made_up(40)):
        random = np.random.default_rng(at)
        hedge = np.arange(len(pair.channels)) % 2 == 0
        occupied = random.random(len(hedge)) < np.where(hedge, 0.5, 1.0)
        returned = random.random(len(hedge)) < np.where(hedge, 0.4, 0.9)  # and a tenth of what is hit is lost
        values = pair.channels.values.copy()
        values[:, CHANNELS.index("occupancy")] = occupied
        channels = replace(pair.channels, values=values, surface=occupied & ~hedge)
        everywhere = np.ones(len(hedge), bool)
        pairs.append(replace(pair, channels=channels, returned=returned, counted=everywhere, known=everywhere))
        chances.append(np.where(hedge, 0.6, 0.1).astype(np.float32) * occupied)
    share = estimate_volume_drops(pairs, chances)
    # Of 0.5 that return in simulation 0.1 are to be dropped, and 0.3 are predicted to be.
    assert share == pytest.approx(1 / 3, abs=0.03)
    part = NetworkCard(file="a.onnx", sha256="0" * 64, kind="ray", variant="mlp", volume_drops=share)
    left = [
        (pair.channels.occupied * (1 - part.draw_by(own, pair.channels))).sum()
        for pair, own in zip(pairs, chances, strict=True)
    ]
    assert np.sum(left) == pytest.approx(sum(pair.returned.sum() for pair in pairs), rel=0.02)
    assert estimate_volume_drops([replace(pair, returned=pair.channels.occupied) for pair in pairs], chances) == 1.0


def test_neighbours_share_draws_as_their_patches_say(make_made_up: Any) -> None:
    channels = make_made_up(1)[0].channels
    number = number_beams(channels)
    fields = np.full((40, int(channels.laser.max()) + 1, int(number.max()) + 1), np.nan)
    for at, field in enumerate(fields):
        drawn = draw_patches(channels, DropPatches(along=0.7, across=0.4), _core.Purpose.RAYDROP, seed=1, index=at)
        field[channels.laser, number] = drawn
    same_along, same_across = (fields[:, :, 1:] == fields[:, :, :-1]).mean(), (fields[:, 1:] == fields[:, :-1]).mean()
    assert same_along == pytest.approx(0.7 + 0.3 * 0.4 * 0.4 / 1.7 * 0.7, abs=0.03)
    assert same_across == pytest.approx(0.4 / 1.7, abs=0.05)
    assert ks_1samp(fields[:, 5, 50], uniform.cdf).pvalue > 1e-3
    again = draw_patches(channels, DropPatches(along=0.7, across=0.4), _core.Purpose.RAYDROP, seed=1, index=3)
    assert again.tobytes() == fields[3][channels.laser, number].tobytes()


def test_texture_stays_with_the_surface_from_sweep_to_sweep() -> None:
    """Levels are uniform; those of one cell resemble each other in other sweeps too, by its share of the variance."""
    texture = Texture(size_m=1.0, share=0.6)
    light = IntensityModel(knots=[[0, 1], [1, 2]], means=[0.5, 1.5], textures=(texture,))
    points = np.random.default_rng(3).uniform(-100, 100, (20_000, 3))
    beams = make_beams(len(points))
    first, again, later, other = (
        light.draw_levels(beams, points, seed=seed, index=index) for seed, index in ((7, 0), (7, 0), (7, 1), (8, 0))
    )
    assert first.tobytes() == again.tobytes()
    assert ks_1samp(first, uniform.cdf).pvalue > 1e-3
    assert np.corrcoef(find_normal(first), find_normal(later))[0, 1] == pytest.approx(0.6, abs=0.03)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    away = light.draw_levels(beams, points + 1.0, seed=7, index=1)
    assert abs(np.corrcoef(first, away)[0, 1]) < 0.03


def test_the_share_of_surfaces_is_recovered(make_made_up: Any) -> None:
    """Pairs of one place whose levels were drawn with a texture show how much of the scatter it has."""
    known = IntensityModel(knots=[[0, 1], [1, 2]], means=[0.5, 1.5], textures=(Texture(size_m=1.0, share=0.5),))
    pair = make_made_up(1)[0]
    pairs = [replace(pair, place="one") for _ in range(4)]
    rows = [select_beams(pair, "intensity") for pair in pairs]
    levels = [known.draw_levels(pair.channels, pair.hit, seed=1, index=at)[own] for at, own in enumerate(rows)]
    found = {texture.size_m: texture.share for texture in estimate_textures(pairs, rows, levels)}
    assert sum(found.values()) == pytest.approx(0.5, abs=0.06)
    assert found[1.0] > 0.3
    random = np.random.default_rng(0)
    assert sum(t.share for t in estimate_textures(pairs, rows, [random.random(len(own)) for own in rows])) < 0.05


def test_scores_of_shares() -> None:
    """A prediction without scatter has its absolute error; the true distribution scores best."""
    random = np.random.default_rng(4)
    means, true_shares = np.array([0.1, 0.4, 0.9]), np.array([0.5, 0.3, 0.2])
    place = random.choice(3, 20_000, p=true_shares)
    true = means[place]
    sure = score_shares(np.repeat([[0.0, 1.0, 0.0]], len(true), axis=0), place, means, true)
    assert sure["intensity_crps"] == pytest.approx(np.abs(true - 0.4).mean(), rel=1e-6)
    right = score_shares(np.repeat(true_shares[None], len(true), axis=0), place, means, true)
    assert right["intensity_log_loss"] == pytest.approx(right["intensity_log_loss_base"], abs=1e-3)
    wrong = score_shares(np.repeat([[0.2, 0.3, 0.5]], len(true), axis=0), place, means, true)
    assert right["intensity_crps"] < min(wrong["intensity_crps"], sure["intensity_crps"])


def test_range_noise_is_recovered_and_slopes_of_the_map_are_not_noise(make_made_up: Any) -> None:
    random = np.random.default_rng(5)
    pairs = []
    for pair in make_made_up(12):
        ranges = pair.channels.values[:, CHANNELS.index("range_m")]
        ramp = 0.1 * np.sin(10 * pair.channels.turn)  # the map is off by up to 10 cm, smoothly
        noisy = ranges + ramp + random.normal(0, 0.02, len(ranges))
        pairs.append(replace(pair, range=np.where(pair.returned, noisy, 0).astype(np.float32)))
    found = estimate_noise(pairs)
    assert found is not None
    assert found.step_m == 0.0
    sigma = find_sigma(found, pairs[0].channels)
    assert np.median(sigma[pairs[0].channels.surface]) == pytest.approx(0.02, rel=0.15)
    assert (sigma[~pairs[0].channels.surface] == 0).all()
    drawn = draw_noise(found, pairs[0].channels, None, seed=1, index=0)
    assert np.std(drawn[pairs[0].channels.surface]) == pytest.approx(0.02, rel=0.2)


def test_tables_of_the_normal_distribution() -> None:
    share = np.linspace(0.001, 0.999, 99)
    np.testing.assert_allclose(find_share(find_normal(share)), share, atol=1e-6)
    assert find_normal(np.array([0.975]))[0] == pytest.approx(1.95996, abs=1e-4)
    assert np.abs(find_normal(np.array([0.0, 1.0]))).max() <= 5.0
