"""Reports as pages: one self-contained HTML file each, readable on a phone, in the dark and on paper."""
