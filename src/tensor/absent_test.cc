#include "tensor/absent.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "tensor/tensor.h"

namespace syrinx {
namespace {

constexpr int64_t kMany = int64_t{64} << 20;

Tensor ones(int64_t bytes) {
  Tensor tensor({bytes}, DType::kU8);
  std::memset(tensor.view().data, 1, tensor.bytes());
  return tensor;
}
int first_of(const Tensor& tensor) { return *static_cast<const uint8_t*>(tensor.view().data); }
int middle_of(const Tensor& tensor) {
  return static_cast<const uint8_t*>(tensor.view().data)[tensor.bytes() / 2];
}

/// Returns the resident memory of this process in bytes.
int64_t memory() {
  int64_t whole = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> whole >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(AbsentTensors, TakeNoMemory) {
  const int64_t before = memory();
  std::vector<Tensor> kept;
  int64_t most = 0;
  {
    const AbsentTensors absent(true);
    for (int i = 0; i < 8; ++i) {
      kept.push_back(ones(kMany));
      most = std::max(most, memory());
    }
  }
  EXPECT_LT(most - before, 3 * kMany);  // one tensor at a time uses memory
  EXPECT_LT(memory() - before, kMany / 2);
  EXPECT_EQ(middle_of(kept[0]), 0);
  const Tensor later = ones(kMany);
  EXPECT_EQ(middle_of(later), 1);
}

TEST(AbsentTensors, TheInnermostDecides) {
  Tensor here, small;
  const AbsentTensors absent(true);
  {
    const AbsentTensors kept(false);
    here = ones(kMany);
    small = ones(100);
  }
  const Tensor gone = ones(kMany), last = ones(kMany);
  EXPECT_EQ(middle_of(here), 1);
  EXPECT_EQ(first_of(small), 1);
  EXPECT_EQ(middle_of(gone), 0);
  EXPECT_EQ(middle_of(last), 1);  // kept until the next tensor is made
}

/// The memory of a freed tensor may already be in use elsewhere, so it must not be released.
TEST(AbsentTensors, ForgetsWhatWasFreed) {
  std::vector<std::vector<char>> others;
  {
    const AbsentTensors absent(true);
    for (int i = 0; i < 100; ++i) {
      {
        const AbsentTensors kept(false);
        ones(1 << 20);
      }
      { const Tensor gone = ones(1 << 20); }
      others.emplace_back(1 << 20, 'x');
    }
  }
  for (const std::vector<char>& other : others) {
    EXPECT_EQ(std::count(other.begin(), other.end(), 'x'), std::ssize(other));
  }
}

}  // namespace
}  // namespace syrinx
