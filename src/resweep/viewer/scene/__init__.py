"""What the viewer shows, as arrays: colours, levels of detail, range images, beams. Nothing here knows a browser."""
