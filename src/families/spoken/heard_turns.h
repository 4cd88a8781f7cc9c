// The turns of text and frames before the new speech in a prompt: first the recording of the
// request's voice, then the turns of its context. Free function; any thread. C: codes per frame.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

struct HeardTurn {
  bool own = false;   ///< whether this is the recording of the request's voice
  std::string voice;  ///< speaker, as in ContextTurn::voice; empty if `own`
  std::string text;
  std::vector<int32_t> codes;  ///< [T, C]; may be empty for a turn of the context
  std::string what;            ///< name of the turn for messages, e.g. "context turn 2"

  Error refused(const std::string& why) const {
    return {ErrorCode::kInvalid, what + ": " + why, own ? "voice" : "context"};
  }
};

/// Returns the turns in order. Returns an Error if data does not consist of whole frames of
/// `codebooks` codes below `codes`, or a recording has more than `most` frames.
Result<std::vector<HeardTurn>> heard_turns(const SpeechRequest& request, int64_t codebooks,
                                           int64_t codes, int64_t most);

}  // namespace syrinx
