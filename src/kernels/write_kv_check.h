// The argument checks of write_kv, for all kernels that write the cache.
#pragma once

#include "kernels/attention.h"

namespace syrinx {

/// Throws InternalError unless the rows of k and v fit the pool and their pages exist.
void check_write_kv(const char* caller, const HeadsView& k, const HeadsView& v, const KvPool& pool,
                    int layer, const Ragged& ragged);

}  // namespace syrinx
