// The argument checks of write_kv and paged_attention, for all kernels that use the cache.
#pragma once

#include "kernels/attention.h"

namespace syrinx {

/// Throws InternalError unless the rows of k and v fit the pool and their pages exist.
void check_write_kv(const char* caller, const HeadsView& k, const HeadsView& v, const KvPool& pool,
                    int layer, const Ragged& ragged);
/// Throws InternalError unless q and out fit the pool, and the pages that rows attend to exist.
void check_attention(const char* caller, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out);

}  // namespace syrinx
