"""An object bank cut out of drives (paper D, section 3.2)."""

from __future__ import annotations

from resweep.objects.bank_building import build_bank
from resweep.objects.config import IcpConfig, ObjectConfig

__all__ = ["IcpConfig", "ObjectConfig", "build_bank"]
