"""Pages of the viewer: what `resweep.viewer.scene` makes, put into a browser by viser."""
