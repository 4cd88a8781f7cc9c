#include "families/spoken/heard_turns.h"

#include "base/check.h"
#include "families/loading/recorded_voice.h"

namespace syrinx {
namespace {

Status check_codes(const HeardTurn& turn, int64_t codebooks, int64_t codes) {
  if (std::ssize(turn.codes) % codebooks != 0) {
    return turn.refused(concat(turn.codes.size(), " codes are not whole frames: each frame needs ",
                               codebooks, " codes"));
  }
  for (const int32_t code : turn.codes) {
    if (code < 0 || code >= codes)
      return turn.refused(concat("code ", code, " must be from 0 to ", codes - 1));
  }
  return ok_status();
}

}  // namespace

Result<std::vector<HeardTurn>> heard_turns(const SpeechRequest& request, int64_t codebooks,
                                           int64_t codes, int64_t most) {
  std::vector<HeardTurn> turns;
  if (request.voice.data) {
    Result<std::vector<int32_t>> frames = voice_codes(*request.voice.data, codebooks, most);
    if (!frames) return frames.error();
    turns.push_back({true, "", request.voice.data->text, frames.take(), "the voice"});
  }
  for (size_t i = 0; i < request.say.context.size(); ++i) {
    const ContextTurn& given = request.say.context[i];
    HeardTurn turn{false, given.voice, given.text, given.codes, concat("context turn ", i)};
    if (given.recording) {
      Result<std::vector<int32_t>> frames = voice_codes(*given.recording, codebooks, most);
      if (!frames) return turn.refused(frames.error().message);
      turn.codes = frames.take();
    }
    turns.push_back(std::move(turn));
  }
  for (const HeardTurn& turn : turns) {
    if (const Status checked = check_codes(turn, codebooks, codes); !checked.ok()) {
      return checked.error();
    }
  }
  return turns;
}

}  // namespace syrinx
