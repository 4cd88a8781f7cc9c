// For tests: counts heap allocations, and makes one of them fail. The whole program's operator new.
#pragma once

#include <cstdint>

namespace syrinx::allocations {

/// So far, by all threads.
int64_t count();
/// This thread's n-th allocation from here on throws bad_alloc, once; 0: none does. True when the
/// one that was asked for before has failed.
bool fail_after(int64_t n);

}  // namespace syrinx::allocations
