// The prompt of a language model that accepts recordings. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "base/error.h"
#include "families/hearing/heard.h"
#include "model/request.h"

namespace syrinx {

struct ChatPrompt {
  std::vector<int32_t> ids;
  std::vector<int32_t> places;    ///< positions of the rows that recordings fill, ascending
  std::vector<Heard> heard = {};  ///< parts of recordings, in the order of `places`
  /// Prefix keys of the places. Empty: these rows are never shared.
  std::vector<uint64_t> keys = {};
  std::vector<int32_t> said = {};  ///< ids of the text, if the request is to read it aloud
};

/// Returns a request's recordings as mono samples at `rate` Hz. Returns an Error for empty ones.
Result<std::vector<std::vector<float>>> recordings_at(const SpeechRequest& request, int rate,
                                                      Resampling how);
/// Returns the prompt, or an Error that names `param` if the prompt has more than `most` ids.
Result<ChatPrompt> checked(ChatPrompt prompt, int64_t most, const char* param);
/// Returns an Error if a text to read aloud has no ids, or more than `most`.
Status check_aloud(std::span<const int32_t> said, int64_t most);

}  // namespace syrinx
