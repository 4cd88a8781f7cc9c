#include "tensor/absent.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace syrinx {
namespace {

constexpr size_t kLarge = size_t{64} << 10;

thread_local AbsentTensors* living = nullptr;

/// Releases whole pages only. A page that other memory shares is kept.
void give_back(void* memory, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

AbsentTensors::AbsentTensors(bool absent) : absent_(absent), outer_(living) { living = this; }

AbsentTensors::~AbsentTensors() {
  for (const auto& [memory, bytes] : made_) give_back(memory, bytes);
  living = outer_;
}

bool AbsentTensors::here() { return living && living->absent_; }

AbsentTensors* AbsentTensors::current() { return living; }

void AbsentTensors::made(void* memory, size_t bytes) {
  if (!absent_ || bytes < kLarge) return;
  if (const auto before = made_.find(last_); before != made_.end()) {
    give_back(before->first, before->second);
  }
  made_[memory] = bytes;
  last_ = memory;
}

void AbsentTensors::freed(void* memory) {
  for (AbsentTensors* each = this; each; each = each->outer_) each->made_.erase(memory);
}

}  // namespace syrinx
