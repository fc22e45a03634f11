"""The loss of a segmenter: weighted cross-entropy, and the Lovász-Softmax loss, which follows the IoU of classes."""

from __future__ import annotations

from typing import Any

from resweep.learn.segmenter.image_samples import IGNORED
from resweep.learn.semantics.kpconv import load_torch


def measure_loss(scores: Any, label: Any, weight: Any, lovasz: float) -> Any:
    """The loss of scores (n, c, rows, columns) against classes (n, rows, columns); NaN if no cell has a class."""
    torch = load_torch()
    known = label != IGNORED
    rows, target = scores.permute(0, 2, 3, 1)[known], label[known]
    loss = torch.nn.functional.cross_entropy(rows, target, weight)
    if lovasz:
        loss = loss + lovasz * measure_lovasz(rows.softmax(dim=1), target)
    return loss


def measure_lovasz(shares: Any, target: Any) -> Any:
    """The mean over present classes of the Lovász extension of 1 - IoU (Berman 2018, eq. 8 and algorithm 1)."""
    torch = load_torch()
    losses = []
    for number in range(shares.shape[1]):
        true = (target == number).to(shares.dtype)
        if not bool(true.any()):
            continue
        error, order = torch.sort((true - shares[:, number]).abs(), descending=True, stable=True)
        hit = true[order]
        left = hit.sum() - hit.cumsum(0)
        union = hit.sum() + (1 - hit).cumsum(0)
        jaccard = 1 - left / union
        slope = torch.cat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
        losses.append((error * slope).sum())
    return torch.stack(losses).mean()
