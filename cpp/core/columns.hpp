// Columns of numbers: those that the caller keeps, and those that are handed to the caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace resweep {

// A column of the caller's; a stride of 0 repeats one value for all rows.
template <class T> struct Column {
    const T* data = nullptr;
    std::size_t stride = 1;
    T operator[](std::size_t row) const { return data[row * stride]; }

    void prefetch(std::size_t row) const {
#ifdef __GNUC__
        __builtin_prefetch(data + row * stride);
#else
        static_cast<void>(row);
#endif
    }
};

// A column that is written once, whole, and so begins uninitialised.
template <class T> struct Buffer {
    static_assert(std::is_trivially_copyable_v<T>);
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T[], Free> data;
    std::size_t size = 0;

    T& operator[](std::size_t row) { return data[row]; }

    void allocate(std::size_t count) {
        data.reset(static_cast<T*>(std::malloc(std::max<std::size_t>(count, 1) * sizeof(T))));
        if (!data) throw std::bad_alloc();
        size = count;
    }

    // Give back what lies behind the first `count` rows.
    void shrink(std::size_t count) {
        if (count == size) return;
        size = count;
        void* const kept = std::realloc(data.get(), std::max<std::size_t>(count, 1) * sizeof(T));
        if (!kept) return;  // more memory than needed is no fault
        data.release();
        data.reset(static_cast<T*>(kept));
    }
};

}  // namespace resweep
