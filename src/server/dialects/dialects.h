// The functions that make each dialect; dialect.h has the common interface. None of them throws.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "server/dialects/dialect.h"
#include "server/request/fields.h"

namespace syrinx {

std::unique_ptr<Dialect> make_native_dialect(const Speaker& speaker, bool strict);
/// `multi`: several contexts on one connection.
std::unique_ptr<Dialect> make_elevenlabs_dialect(const std::string& voice, const Query& query,
                                                 bool multi, const Speaker& speaker,
                                                 ApiError& error);
std::unique_ptr<Dialect> make_cartesia_dialect(const std::string& id, const Speaker& speaker);
std::unique_ptr<Dialect> make_sglang_dialect(const std::string& id, const Speaker& speaker,
                                             bool strict);
std::unique_ptr<Dialect> make_deepgram_dialect(const Query& query, const std::string& id,
                                               const Speaker& speaker, ApiError& error);

inline int64_t milliseconds(double seconds) { return std::llround(1e3 * seconds); }

}  // namespace syrinx
