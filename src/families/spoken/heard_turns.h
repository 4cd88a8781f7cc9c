// The turns of text and frames that a model hears before it speaks: the recording of the request's
// voice, then the turns of its context. Free function; any thread. C codes a frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

struct HeardTurn {
  bool own = false;   ///< the recording of the request's voice
  std::string voice;  ///< the speaker, as ContextTurn::voice; empty where `own`
  std::string text;
  std::vector<int32_t> codes;  ///< [T, C]; may be empty in a context
  std::string what;            ///< name of the turn in messages, e.g. "context turn 2"

  Error refused(const std::string& why) const {
    return {ErrorCode::kInvalid, what + ": " + why, own ? "voice" : "context"};
  }
};

/// Returns the turns in order. Refuses data that is not whole frames of `codebooks` codes below
/// `codes`, and a recording of more than `most` frames.
Result<std::vector<HeardTurn>> heard_turns(const SpeechRequest& request, int64_t codebooks,
                                           int64_t codes, int64_t most);

}  // namespace syrinx
