#include "engine/failing_new_test.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace syrinx::allocations {
namespace {

std::atomic<int64_t> counted{0};
thread_local int64_t left = 0;
thread_local bool failed = false;

}  // namespace

int64_t count() { return counted; }

bool fail_after(int64_t n) {
  left = n;
  const bool has = failed;
  failed = false;
  return has;
}

/// Allocates memory. Returns null if the allocation fails.
void* take(size_t size) {
  ++counted;
  if (left > 0 && --left == 0) {
    failed = true;
    return nullptr;
  }
  return std::malloc(size);
}

}  // namespace syrinx::allocations

void* operator new(size_t size) {
  if (void* memory = syrinx::allocations::take(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return syrinx::allocations::take(size);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // new and delete are both replaced here
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#pragma GCC diagnostic pop
