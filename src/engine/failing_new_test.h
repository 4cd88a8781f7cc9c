// For tests: replaces the program's operator new, to count heap allocations and make one of them
// fail.
#pragma once

#include <cstdint>

namespace syrinx::allocations {

/// Returns the number of allocations so far, by all threads.
int64_t count();
/// Makes this thread's n-th allocation from now on throw bad_alloc, once; 0: no allocation fails.
/// Returns whether the failure that the previous call asked for has happened.
bool fail_after(int64_t n);

}  // namespace syrinx::allocations
