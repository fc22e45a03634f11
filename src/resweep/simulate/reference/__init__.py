"""NumPy references of the native kernels, written to be read; the tests hold the kernels to them."""
