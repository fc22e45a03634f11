"""Tasks on the workers of a dask cluster: on this machine, or on many.

`open_workers` gives what runs tasks (`resweep.work.Workers`). Dask is imported only when a cluster is asked for.
"""

from resweep.cluster.spec import ClusterSpec
from resweep.cluster.start import open_workers

__all__ = ["ClusterSpec", "open_workers"]
