"""Street corners of three classes."""

from tests.learn.semantics.conftest import corners as corners
from tests.learn.semantics.conftest import others as others
from tests.learn.semantics.conftest import roads as roads
