#include "families/spoken/prompt.h"

#include <algorithm>

#include "io/digest.h"

namespace syrinx {

void Prompt::add(std::span<const int32_t> ids) {
  for (const int32_t id : ids) add(id);
}

std::span<int32_t> Prompt::add_row(int32_t written) {
  written_.push_back(written);
  return add_row();
}

std::span<int32_t> Prompt::add_row() {
  given_.emplace_back();
  rows_.resize(rows_.size() + tables_, -1);
  return std::span(rows_).last(tables_);
}

void Prompt::add_vector(GivenRow vector, int32_t written) {
  written_.push_back(written);
  add_vector(vector);
}

void Prompt::add_vector(GivenRow vector) {
  add_row();
  given_.back() = vector;
}

bool Prompt::same_row(int at, const Prompt& other) const {
  return std::ranges::equal(row(at), other.row(at)) &&
         std::ranges::equal(vector(at), other.vector(at));
}

void Prompt::append_keys(std::vector<uint64_t>& keys) const {
  constexpr uint64_t kSeveral = uint64_t{1} << 63;  // this bit is set in no id
  for (int at = 0; at < size(); ++at) {
    const std::span<const int32_t> ids = row(at);
    const bool one = std::all_of(ids.begin() + 1, ids.end(), [](int32_t id) { return id < 0; });
    if (one && ids[0] >= 0 && vector(at).empty()) {
      keys.push_back(static_cast<uint64_t>(ids[0]));
      continue;
    }
    Digest digest;
    digest.values(ids);
    digest.values(vector(at));
    keys.push_back(digest.key() | kSeveral);
  }
}

}  // namespace syrinx
