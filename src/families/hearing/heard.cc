#include "families/hearing/heard.h"

#include "base/error.h"

namespace syrinx {

void set_keys(Bundle& bundle, std::span<const uint64_t> keys) {
  std::vector<int32_t> halves;
  for (const uint64_t key : keys) {
    halves.push_back(static_cast<int32_t>(static_cast<uint32_t>(key)));
    halves.push_back(static_cast<int32_t>(static_cast<uint32_t>(key >> 32)));
  }
  bundle.set("keys", std::move(halves));
}

std::vector<uint64_t> take_keys(Bundle& bundle) {
  const std::vector<int32_t> halves = bundle.ints("keys");
  if (halves.size() % 2 != 0) throw LoadError("keys are no pairs");
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < halves.size(); i += 2) {
    keys.push_back(static_cast<uint32_t>(halves[i]) | uint64_t{static_cast<uint32_t>(halves[i + 1])}
                                                          << 32);
  }
  return keys;
}

void append_row_keys(uint64_t part, int64_t rows, std::vector<uint64_t>& keys) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd: no two rows of a part are alike
  for (int64_t row = 1; row <= rows; ++row)
    keys.push_back(part + kStep * static_cast<uint64_t>(row));
}

}  // namespace syrinx
