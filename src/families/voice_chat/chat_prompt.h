// The prompt of a language model that takes recordings. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "base/error.h"
#include "families/hearing/heard.h"

namespace syrinx {

struct ChatPrompt {
  std::vector<int32_t> ids;
  std::vector<int32_t> places;    ///< positions of rows that recordings fill, ascending
  std::vector<Heard> heard = {};  ///< parts of recordings, in the order of their places
  /// prefix keys of the places; empty: these rows are never shared
  std::vector<uint64_t> keys = {};
  std::vector<int32_t> said = {};  ///< the answer's text, if it is only read aloud
};

/// Returns the recordings of a request, resampled to `rate` Hz, mono. Refuses empty recordings.
Result<std::vector<std::vector<float>>> recordings_at(const SpeechRequest& request, int rate,
                                                      Resampling how);
/// Refuses a prompt of more than `most` ids.
Result<ChatPrompt> checked(ChatPrompt prompt, int64_t most, const char* param);
/// Refuses a text to be read aloud that has no ids or more than `most`.
Status check_aloud(std::span<const int32_t> said, int64_t most);

}  // namespace syrinx
