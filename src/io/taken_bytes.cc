#include "io/taken_bytes.h"

#include <utility>

namespace syrinx {
namespace {

thread_local TakenBytes* innermost = nullptr;

}  // namespace

TakenBytes::TakenBytes(std::function<void(int64_t)> taken)
    : taken_(std::move(taken)), outer_(innermost) {
  innermost = this;
}

TakenBytes::~TakenBytes() { innermost = outer_; }

void TakenBytes::add(int64_t bytes) {
  if (innermost && innermost->taken_) innermost->taken_(bytes);
}

}  // namespace syrinx
