// Options of a request (model/options.h) as fields of a body. Throws ApiError. Any thread.
#pragma once

#include <cstdint>

#include "model/options.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Reads the fields that a body of that kind has in the table, but for those with a reader of their
/// own, and `service_tier`. What the body lacks stays as it is.
template <typename Json>
void read_options(const ObjectFields<Json>& fields, RequestBody body, SpeechRequest& request);

extern template void read_options(const JsonFields&, RequestBody, SpeechRequest&);
extern template void read_options(const ChatFields&, RequestBody, SpeechRequest&);

/// A seed for a request that has none. Below 2^53, so that a client that keeps numbers as doubles
/// can send it back.
uint64_t random_seed();

}  // namespace syrinx
