// Exceptions in threads, for test_parallel.py: prints what reached the caller.
#include "core/parallel.hpp"

#include <cstdio>
#include <stdexcept>

int main() {
    std::atomic<int> done{0};
    const auto work = [&](std::size_t chunk) {
        if (chunk == 5) throw std::runtime_error("chunk 5");
        ++done;
    };
    for (const int threads : {1, 3}) {
        try {
            resweep::parallel(1000, threads, [&] { return work; });
            std::puts("nothing");
        } catch (const std::runtime_error& error) {
            std::puts(error.what());
        }
    }
    done = 0;
    resweep::parallel(1000, 3, [&] { return [&](std::size_t) { ++done; }; });
    std::printf("%d\n", done.load());
    return 0;
}
