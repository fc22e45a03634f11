// Loops compiled for several processors; the loader picks one when the program starts. The build allows
// no fused multiply-adds, so all versions give the same bytes.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define RESWEEP_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RESWEEP_MULTIVERSION
#endif
