"""The rows and columns of the tables of figures in docs/, by the saved result that they are from."""

from __future__ import annotations

from experiments.tables import page, paper

# By name: what each figure is, where it stands in the JSON (keys, separated by slashes; several for several columns),
# and how it is written, alike in all columns or each in its own way; what is None is written as a dash.
Row = tuple[str, str | tuple[str | None, ...], str | tuple[str, ...]]


def _across(keys: str, count: int, first: int = 0) -> tuple[str, ...]:
    """Keys of ``count`` columns, which are numbered from ``first`` on."""
    return tuple(keys.format(at) for at in range(first, first + count))


_TARGETS = ("planes", "tree, dense", "tree, medium", "tree, sparse", "tall grass", "short grass")
_OF_TABLE = (
    "paper_surface", "paper_volumetric", "hybrid", "hybrid_noise", "hybrid_spot", "least_on_spot", "noise_floor",
)  # fmt: skip
_SPLATS_BY = ("descriptors", "KPConv labels", "labels")
_PLACED = "mean/placements"
_ONE_SWEEP = ("nuScenes, one, 8", "nuScenes, one, 12", "Argoverse 2, 1")
# The figures of c_compare in its order, and those that are compared on shared beams too.
_COMPARED = {
    "recovered to 10 cm": "{:.2%}",
    "within 10 cm": "{:.2%}",
    "RMSE": "{:.3f} m",
    "F1 of returns": "{:.2%}",
    "log-likelihood": "{:.2f}",
    "C2C": "{:.4f} m",
    "thin C2C": "{:.4f} m",
    "thin C2C, one sweep": "{:.4f} m",
    "false near hits": "{:.2%}",
}
_ON_SHARED = ("within 10 cm", "RMSE", "C2C", "thin C2C", "thin C2C, one sweep", "false near hits")
COLUMNS: dict[str, tuple[str, ...]] = {
    "benchmarks/build": ("street, 60 sweeps", "SemanticKITTI 00, 10 sweeps", "the same without labels"),
    "experiments/d_tables": ("D", "city", "from", "to", "SemanticKITTI", "from", "to", "city", "SemanticKITTI"),
    "experiments/d_judge": ("mIoU", "agreement", "on 02", "on 05", "on 04", "on 06"),
    "experiments/d_cars": ("hit F1 before", "after", "return F1 before", "after ", "same class before", "after  "),
    "experiments/c_sparse": ("nuScenes 8 (settings were chosen on it)", "nuScenes 12", "Argoverse 2, sweep 1"),
    "experiments/c_compare": ("compared with", "better", "at most by", "on", "than"),
    "experiments/c_heldout": ("drawn return", "most likely return"),
    "experiments/c_refine": ("none", "fast", "full"),
    "experiments/c_semantics": ("KPConv", "random forest", "range image"),
    "experiments/c_kpconv": tuple(f"splats by {kind}" for kind in _SPLATS_BY),
    "experiments/b_figure10": ("LMS-291", "VLP-16", "HDL-32E", "HDL-64E"),
    "experiments/d_shift": ("0 m", "1 m", "2 m", "3 m"),
    "experiments/a_table1": (
        "A surface",
        "A volumetric",
        "default",
        "with noise",
        "over spot",
        "least over spot",
        "halves",
    ),
    "experiments/d_hidden_car": ("all", "6 to 8 m/s", "9 to 11 m/s", "12 to 14 m/s", "15 and 16 m/s"),
    "experiments/d_openset": ("energy", "softmax", "distance", "D"),
    "experiments/d_search": ("random", "grid", "CMA-ES"),
    "benchmarks/drive": ("HDL-64E", "VLP-16"),
    "benchmarks/floor": ("sweeps a second", "over Embree, rays as fired", "over Embree, rays in our order"),
}
_JUDGED = (
    "real", "real, 1 cm of noise (null)", "next real sweep (null)", "real, only beams that we return", "ours",
    "ours, no noise", "ours, most likely returns", "our geometry, recorded intensities",
    "real geometry, our intensities", "recorded values, our drops", "our values, recorded drops",
    "boxes and CAD (negative control)",
)  # fmt: skip

_OF_SIZES = tuple(f"{short}_{field}" for short in page.SHORT.values() for field in page.FIELDS)
_VERDICTS = tuple(f"{short}_verdict" for short in page.SHORT.values())
_SHARE = "{:.1%}"

ROWS: dict[str, tuple[Row, ...]] = {
    "experiments/d_openset": tuple(
        (
            f"{test}: {metric}",
            tuple(f"figures/{model}/{test}, {metric}" for model in ("energy", "softmax", "distance", "D")),
            "{:.1%}",
        )
        for test in (
            "animals crossing",
            "construction blocking",
            "objects scattered",
            "all scenes",
            "without",
            "recorded",
        )
        for metric in ("UQ", "unknown PQ", "unknown recall", "vehicle PQ", "road PQ")
        if metric in ("vehicle PQ", "road PQ") or test not in ("without", "recorded")
    ),
    "experiments/d_tables": (
        *(
            (title, (f"cells/{title}/paper", *(f"cells/{title}/{key}" for key in _OF_SIZES), None, None), _SHARE)
            for title in (page.title_row(row, metric) for row in paper.ROWS for metric in row.figures)
        ),
        *(
            (
                title,
                (None, *(f"cells/{title}/{key}" for key in (*_OF_SIZES, *_VERDICTS))),
                (_SHARE,) * 7 + ("{}",) * 2,
            )
            for title in (page.title_claim(claim) for claim in paper.CLAIMS)
        ),
    ),
    "experiments/d_judge": tuple(
        (
            cloud,
            (f"mean/{cloud}/miou", f"mean/{cloud}/agreement", *(f"rows/{at}/{cloud}/agreement" for at in range(4))),
            "{:.3f}",
        )
        for cloud in _JUDGED
    ),
    "experiments/d_cars": tuple(
        (
            f"{kind}: {part}",
            tuple(
                path
                for figure in ("hit_f1", "return_f1", "same_class")
                for path in (f"before/mean/{kind}/{part}/{figure}", f"mean/{after}/{part}/{figure}")
            ),
            "{:.1%}",
        )
        for kind, after in (("standing", "standing"), ("moving", "moving, followed"))
        for part in ("all", "wheels", "body", "windows", "roof")
    ),
    "benchmarks/perception": (
        ("training a detector on 300 sweeps (goal 1200 s)", "train_detector_s", "{:.0f} s"),
        ("sweeps that a detector reads a second (goal 5)", "detect_sweeps_per_s", "{:.1f}"),
        ("sweeps that a segmenter reads a second (goal 5)", "segment_sweeps_per_s", "{:.1f}"),
        (
            "what the default scatter adds to the time of a sweep, recorded beams (goal 5 %)",
            "overhead_recorded",
            "{:.1%}",
        ),
        ("the same, a catalog sensor", "overhead_catalog", "{:.1%}"),
    ),
    "benchmarks/build": tuple(
        (title, tuple(f"builds/{build}/{key}" for build in ("street_60", "labelled", "unlabelled")), form)
        for title, key, form in (
            ("sweeps a second (goal 2)", "sweeps_per_s", "{:.2f}"),
            ("processor seconds", "processor_s", "{:.0f}"),
            ("cores that are busy", "cores_busy", "{:.2f}"),
        )
    ),
    "benchmarks/tiles": (
        ("sweeps a second of a build, 1,600 sweeps", "sweeps_per_s_build", "{:.2f}"),
        ("processor seconds a sweep", "processor_s_per_sweep", "{:.2f}"),
        ("peak memory, 100 sweeps", "peak_gb_100", "{:.2f} GB"),
        ("peak memory, 1,600 sweeps", "peak_gb_1600", "{:.2f} GB"),
        ("processor time of a tiled build over one in one piece", "processor_ratio_to_untiled", "{:.2f}"),
        ("time of a streamed sweep over one of the world in memory", "streamed_ratio", "{:.2f}"),
    ),
    "benchmarks/grassland": (
        ("volumes a hectare", "volumes_per_hectare", "{:,.0f}"),
        ("bytes a volume on disk", "bytes_per_volume", "{:.0f}"),
        ("beams a second and core that are built from", "beams_per_core_s", "{:,.0f}"),
    ),
    "benchmarks/peers": tuple(
        (f"{what}, {place}, {rays}", f"{place}_{key}_{figure}", "{:.2f}")
        for what, figure in (
            ("speed over that of Open3D", "speedup_open3d"),
            ("speed over that of trimesh", "speedup_trimesh"),
            ("speed end to end over that of Mitsuba 3 tracing alone, rays as fired", "ratio_mitsuba_fired"),
            ("speed end to end over that of Mitsuba 3 tracing alone, rays in our order", "ratio_mitsuba"),
        )
        for place in ("terrain", "vegetation")
        for rays, key in (("1 ray a pulse", "1ray"), ("9 rays", "9rays"))
    ),
    "benchmarks/floor": tuple(
        (
            f"{place}, {rays}",
            tuple(f"{place}_{key}_{figure}" for figure in ("sweeps_per_s", "ratio", "tracing_share")),
            ("{:.0f}", "{:.2f}", "{:.2f}"),
        )
        for place in ("terrain", "courtyard")
        for rays, key in (("1 ray a pulse", "1ray"), ("9 rays", "9rays"))
    ),
    "benchmarks/courtyard": (
        ("real-time factor, median of eight poses (goal 1.0)", "realtime_factor", "{:.2f}"),
        ("slowest pose", "realtime_factor_min", "{:.2f}"),
        ("fastest pose", "realtime_factor_max", "{:.2f}"),
        ("triangles, copies counted", "triangles", "{:,}"),
        ("seconds to build", "build_s", "{:.1f}"),
    ),
    "experiments/a_table1": tuple(
        (name, tuple(f"rows/{at}/{key}" for key in _OF_TABLE), "{:.3f}") for at, name in enumerate(_TARGETS)
    ),
    "experiments/a_figure1": (
        ("distance of the histograms, beam of one peak, voxels of 5 cm", "rows/0/voxels", "{:.2f}"),
        ("the same, volumes of 2 cm", "rows/0/dense", "{:.2f}"),
        ("distance of the histograms, beam of several peaks, voxels of 5 cm", "rows/1/voxels", "{:.2f}"),
        ("the same, volumes of 2 cm", "rows/1/dense", "{:.2f}"),
    ),
    "experiments/b_figure5": (
        ("returns of the first stand (nine rays, 20 m away)", "cases/0/returns", "{:,}"),
        ("Kolmogorov–Smirnov distance to the gamma law of B", "cases/0/gamma/ks", "{:.3f}"),
        ("Kolmogorov–Smirnov distance to the exponential law", "cases/0/exponential/ks", "{:.3f}"),
        ("log-likelihood gain of the gamma law, nats a return", "cases/0/gamma_gain", "{:.3f}"),
    ),
    "experiments/b_figure7": (
        ("pulses of the scan", "pulses", "{}"),
        ("mixed pixels, board 0.6 m behind the rods", "mixed/0.6", "{}"),
        ("mixed pixels, board 2 m behind", "mixed/2", "{}"),
        ("farthest board with any, nine rays", "last_offset_with_any_m/nine", "{:g} m"),
        ("the receiver's cutoff", "cutoff_m", "{:g} m"),
    ),
    "experiments/b_figure8": (
        ("returns from all places", "returns", "{:,}"),
        ("width between the 5th and 95th percentile", "width_5_95_m", "{:.2f} m"),
        ("median range of foliage", "median_foliage_m", "{:.2f} m"),
        ("median range of wood", "median_wood_m", "{:.2f} m"),
        ("probability of so many returns from one peak", "p_one_mode", "{:.3f}"),
    ),
    "experiments/c_semantics": (
        ("mIoU of 02 and 04 together", _across("rows/{}/miou", 3), "{:.3f}"),
        ("mIoU of 02", _across("rows/{}/miou_by_log/02", 3), "{:.3f}"),
        ("mIoU of 04", _across("rows/{}/miou_by_log/04", 3), "{:.3f}"),
        ("returns that are right", _across("rows/{}/accuracy", 3), "{:.1%}"),
        *(
            (f"IoU of {name}", _across("rows/{}/iou/" + name, 3), "{:.3f}")
            for name in ("road", "vegetation", "car", "trunk", "fence", "pole", "pavement", "building", "person")
        ),
    ),
    "experiments/c_kpconv": tuple(
        (f"{place}: {title}", tuple(f"places/{at}/kpconv/ours/{key}/{kind}" for kind in _SPLATS_BY), form)
        for at, place in enumerate(("02", "04"))
        for title, key, form in (
            ("C2C of thin things", "thin_c2c_m", "{:.4f} m"),
            ("F1 of thin things", "thin_f1", "{:.3f}"),
            ("returns of held-out sweeps that are right", "heldout_right", "{:.1%}"),
        )
    ),
    "experiments/b_figure10": tuple(
        (title, _across("rows/{}/" + key, 4), form)
        for title, key, form in (
            ("driven until the goal was reached", "path_m", "{:.1f} m"),
            ("driven time", "driven_s", "{:.1f} s"),
            ("collisions", "collisions", "{}"),
            ("mean error of the cost (0 to 100) of cells seen", "cost_error_mean", "{:.1f}"),
            ("largest error of the cost", "cost_error_max", "{:.0f}"),
            ("cells of grass that are blocked", "grass_blocked_share", "{:.2%}"),
            ("cells of trees and walls that are blocked", "tree_cells_found", "{:.0%}"),
        )
    ),
    "experiments/d_hidden_car": tuple(
        (title, _across("groups/{}/" + key, 5), form)
        for title, key, form in (
            ("cases", "cases", "{}"),
            ("success (D's planner: 90 %)", "success_rate", "{:.1%}"),
            ("failures", "failures", "{}"),
            ("failures that hardest braking from the first sight on avoids", "avoidable", "{}"),
            ("failures in which the ego stood already", "standing", "{}"),
            ("least distance to the car, successes", "min_distance_m", "{:.2f} m"),
            ("cases that come within 10 m of the car", "near", "{}"),
            ("median of the minimum times to collision", "min_ttc_s", "{:.1f} s"),
            ("mean speed", "mean_speed_mps", "{:.1f} m/s"),
            ("median of the hardest braking", "max_deceleration_mps2", "{:.1f} m/s²"),
            ("median of the largest jerk", "max_jerk_mps3", "{:.0f} m/s³"),
        )
    ),
    "benchmarks/drive": (
        ("seconds of the drive a second of real time", ("realtime_factor_hdl64", "realtime_factor_vlp16"), "{:.1f}"),
        ("goal", ("targets/hdl64", "targets/vlp16"), "{:.0f}"),
        ("processor seconds a second of the drive", ("cpu_s_hdl64", "cpu_s_vlp16"), "{:.3f}"),
        ("steps of the Gymnasium environment a second, small yard", (None, "gym_steps_per_s"), "{:.0f}"),
    ),
    "experiments/c_heldout": (
        *(
            (f"{title}, {place}{goal}", (f"{_PLACED}/{at}/drawn/{key}", f"{_PLACED}/{at}/most_likely/{key}"), form)
            for title, reached, key, form in (
                ("median error of ranges", "2.0 cm", "range_median_m", "{:.4f} m"),
                ("within 10 cm, of beams that return in both", "88 %", "within_0.10m", "{:.1%}"),
                ("true returns recovered to 10 cm", "87 %", "recovered_0.10m", "{:.1%}"),
                ("F1 of returns", "0.98", "return_f1", "{:.3f}"),
            )
            for at, place, goal in (
                (1, "registered by pose", f" (goal {reached})"),
                (0, "at the recorded pose", ""),
                (2, "registered with motion", ""),
            )
        ),
        *(
            (f"{title} (goal {goal})", (f"mean/{key}", None), form)
            for title, goal, key, form in (
                ("root mean square error of ranges", "2.2 m", "range_rmse_m", "{:.2f} m"),
                ("distance of simulated points from recorded ones, C2C", "1.9 cm", "c2c_m", "{:.4f} m"),
                ("Chamfer distance, squares", "0.07 m²", "chamfer_sq_sum_m2", "{:.3f} m²"),
                ("F-score at 5 cm", "0.80", "fscore_0.05m", "{:.3f}"),
                ("log-likelihood of a beam", "1.0", "log_likelihood", "{:.2f}"),
                ("returns more than 0.5 m too early", "2.5 %", "too_early_0.5m", "{:.1%}"),
                ("intensity, root mean square error", "0.085", "intensity_rmse", "{:.3f}"),
                ("intensity, correlation", "0.75", "intensity_corr", "{:.2f}"),
            )
        ),
    ),
    "experiments/d_confidence": (
        ("expected calibration error", "calibration_error", "{:.4f}"),
        ("the same, if every return were given one half", "base_error", "{:.2f}"),
        ("Brier score", "brier", "{:.4f}"),
        ("Brier score of the mean share", "brier_of_the_mean", "{:.4f}"),
        ("returns that are right", "right_share", "{:.1%}"),
    ),
    "experiments/d_shift": tuple(
        (f"{title}, {sensor}{world}", _across(f"rows/{{}}/{key}", 4, first), form)
        for first, sensor, world in (
            (0, "HDL-64E", ""),
            (12, "HDL-64E", ", completed"),
            (4, "OS1-128", ""),
            (8, "VLP-16", ""),
        )
        for title, key, form in (
            ("recovered to 0.1 m", "recovered_0.10m", "{:.1%}"),
            ("unknown beams", "unknown_share", "{:.1%}"),
            ("Chamfer", "chamfer_m", "{:.4f} m"),
        )
    ),
    "experiments/c_sparse": tuple(
        (title, tuple(f"from_one_sweep/{name}/{key}" for name in _ONE_SWEEP), form)
        for title, key, form in (
            ("recovered to 10 cm", "recovered", "{:.1%}"),
            ("near a recorded point", "near", "{:.1%}"),
            ("bound", "bound", "{:.1%}"),
            ("a replay of the nearest sweep", "again", "{:.1%}"),
            ("F1 of returns", "return_f1", "{:.3f}"),
            ("F1 of the sensor again", "again_f1", "{:.3f}"),
            ("best F1 by share", "share_f1", "{:.3f}"),
            ("log-likelihood of a beam", "log_likelihood", "{:.2f}"),
        )
    ),
    "experiments/c_refine": tuple(
        (title, _across(f"rows/{{}}/{key}", 3), form)
        for title, key, form in (
            ("median error of ranges", "range_median_m", "{:.4f} m"),
            ("true returns recovered to 10 cm", "recovered_0.10m", "{:.1%}"),
            ("C2C", "c2c_m", "{:.4f} m"),
            ("F-score at 5 cm", "fscore_0.05m", "{:.3f}"),
            ("log-likelihood of a beam", "log_likelihood", "{:.2f}"),
            ("processor time of the first estimate", "first_cpu_s", "{:.1f} s"),
            ("processor time of the refinement", "refine_cpu_s", "{:.1f} s"),
        )
    ),
    "experiments/d_search": (
        ("runs", _across("rows/{}/runs", 3), "{}"),
        ("failures", _across("rows/{}/failures", 3), "{}"),
        ("first failure in run", _across("rows/{}/runs_to_first_failure", 3), "{}"),
        ("least score", _across("rows/{}/least_score", 3), "{:.2f}"),
    ),
    "experiments/c_compare": tuple(
        (
            title + beams,
            tuple(f"{part}/{at}/{key}" for key in ("compared", "better", "most", "on", "than")),
            ("{}", "{}", form, "{}", "{}"),
        )
        for part, beams, titles in (
            ("summary", "", tuple(_COMPARED)),
            ("shared_summary", ", beams that both return", tuple(title for title in _COMPARED if title in _ON_SHARED)),
        )
        for at, title in enumerate(titles)
        for form in (_COMPARED[title],)
    ),
    "experiments/d_motion": (
        ("median error, each ray its own time", "variants/continuous/median_mm", "{:.3f} mm"),
        ("largest error, each ray its own time", "variants/continuous/max_mm", "{:.3f} mm"),
        ("median error, 360 steps a sweep", "variants/360/median_mm", "{:.2f} mm"),
        ("largest error, 360 steps a sweep", "variants/360/max_mm", "{:.1f} mm"),
    ),
    "experiments/d_objects": tuple(
        (f"{title}, {step}", f"drives/oncoming/{step}/{key}", form)
        for step in ("boxes alone", "coloured ICP", "coloured ICP, mirrored")
        for title, key, form in (
            ("median distance of surfels to the true car", "error_median_m", "{:.3f} m"),
            ("share of the car that is covered", "complete", "{:.0%}"),
        )
    ),
}
