// Loops compiled for several processors, chosen when the program starts. The build allows no fused
// multiply-adds, so all of them give the same bytes.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define RESWEEP_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RESWEEP_CLONES
#endif
