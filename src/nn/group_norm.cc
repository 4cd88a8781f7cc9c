#include "nn/group_norm.h"

namespace syrinx {

GroupNorm::GroupNorm(const Weights& weights, int64_t channels, int64_t groups, float eps)
    : weight_(weights.f32("weight", {channels})),
      bias_(weights.f32("bias", {channels})),
      groups_(groups),
      eps_(eps) {
  SYRINX_CHECK(groups > 0 && channels % groups == 0, "[group_norm] ", groups,
               " groups cannot divide ", channels, " channels");
}

}  // namespace syrinx
