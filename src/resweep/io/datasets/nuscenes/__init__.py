"""nuScenes: datasets read and written, as nuscenes-devkit has them."""
