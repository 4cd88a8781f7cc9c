// Reads options of a request (model/options.h) from fields of a body. Throws ApiError. Thread-safe.
#pragma once

#include <cstdint>

#include "model/options.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Reads the options that bodies of this kind have, and `service_tier`. Skips options that have a
/// separate reader. Options that the body lacks stay unchanged.
template <typename Json>
void read_options(const ObjectFields<Json>& fields, RequestBody body, SpeechRequest& request);

extern template void read_options(const JsonFields&, RequestBody, SpeechRequest&);
extern template void read_options(const ChatFields&, RequestBody, SpeechRequest&);

/// Returns a random seed below 2^53. Clients that store numbers as doubles can send such a seed
/// back.
uint64_t random_seed();

}  // namespace syrinx
