"""Files and folders: outputs that appear whole or not at all, one writer each, and work that resumes."""

from resweep.files.atomic import (
    atomic_file,
    atomic_folder,
    lock_local,
    recover_local,
    replace_folder,
)
from resweep.files.write_file import write_file

__all__ = ["atomic_file", "atomic_folder", "lock_local", "recover_local", "replace_folder", "write_file"]
