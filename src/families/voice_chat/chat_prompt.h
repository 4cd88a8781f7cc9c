// What a language model that hears reads before it answers. Plain values.
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
  std::vector<int32_t> places;      ///< positions that recordings fill, in rising order
  std::vector<Heard> heard = {};    ///< parts of recordings, in the order of their places
  std::vector<uint64_t> keys = {};  ///< of the places; none: such rows are always run
  std::vector<int32_t> said = {};   ///< the answer's text, where it is only read aloud
};

/// The recordings of a request as sampled anew, mono at `rate` Hz. Refuses empty ones.
Result<std::vector<std::vector<float>>> recordings_at(const SpeechRequest& request, int rate,
                                                      Resampling how);
/// Refuses a prompt of more ids than `most`.
Result<ChatPrompt> checked(ChatPrompt prompt, int64_t most, const char* param);
/// Refuses a text to be read aloud that has no ids, or more than `most`.
Status check_aloud(std::span<const int32_t> said, int64_t most);

}  // namespace syrinx
