// Columns of numbers: those that the caller keeps, and those that are handed to the caller.
#pragma once

#include <cstddef>
#include <memory>

namespace resweep {

// A column of the caller's; a stride of 0 repeats one value for all rows.
template <class T> struct Column {
    const T* data = nullptr;
    std::size_t stride = 1;
    T operator[](std::size_t row) const { return data[row * stride]; }
};

// A column that is written once, whole, and so begins uninitialised.
template <class T> struct Buffer {
    std::unique_ptr<T[]> data;
    std::size_t size = 0;
    void allocate(std::size_t count) {
        data.reset(new T[count]);
        size = count;
    }
};

}  // namespace resweep
