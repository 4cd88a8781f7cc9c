// Constants that the flow's encoder and estimator share.
#pragma once

#include "kernels/linear.h"
#include "nn/stream_pass.h"

namespace syrinx {

constexpr float kFlowNormEps = 1e-5f;  ///< default epsilon of torch's nn.LayerNorm

}  // namespace syrinx
