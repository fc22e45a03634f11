// Loops compiled for several processors; the loader picks one when the program starts. The build allows
// no fused multiply-adds, so all versions give the same bytes.
//
// Not with the thread sanitizer, whose calls in the functions that pick a version come before the loader can resolve
// them.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_THREAD__)
#define RESWEEP_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RESWEEP_MULTIVERSION
#endif
