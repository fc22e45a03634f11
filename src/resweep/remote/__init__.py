"""Object stores: files and folders by URL (``s3://``, ``gs://``, ``az://``) that are read and written like local ones.

`find_path` turns what a user names into a path. A URL of an object store becomes a `RemotePath`, which every reader
opens like a local file: it is fetched into a cache when it is opened. ``file://`` is the local path itself. Outputs are
written to a local folder first (`stage`) and then uploaded, their index last. No network is used unless a URL is given.
"""

from resweep.remote.leases import lock_output
from resweep.remote.paths import RemotePath, find_path, is_remote, recover_output
from resweep.remote.staging import check_finished, discard_stage, is_unfinished, publish, stage, write_output

__all__ = [
    "RemotePath",
    "check_finished",
    "discard_stage",
    "find_path",
    "is_remote",
    "is_unfinished",
    "lock_output",
    "publish",
    "recover_output",
    "stage",
    "write_output",
]
