// What the talker of Qwen3-Omni is fed: a row is a part of text (an id of the thinker's, or a row
// that the thinker had where a recording was) plus a part of codec (nothing, an id, or a frame).
// The thinker may be behind: the text of a row is needed when the row runs, not before. Free
// functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "families/qwen3_omni/config.h"

namespace syrinx::qwen3_omni {

/// What a row of the talker's prompt is made of.
struct TalkerRow {
  int32_t text = -1;   ///< an id of the thinker's vocabulary
  int32_t heard = -1;  ///< or the position of the thinker whose row is heard instead
  int32_t codec = -1;  ///< an id of the talker's vocabulary; -1: none
  bool operator==(const TalkerRow&) const = default;
};

/// The talker's prompt for `ids`, the thinker's prompt: all that users said (turns of others are
/// left out), then the beginning of the answer: the three ids of its turn's head, the speaker, and
/// `first`, the first id that the thinker wrote. A row's text after the prompt is the thinker's
/// next id, after its last tts_eos, and then tts_pad. `ids` must end in the head of the answer's
/// turn.
std::vector<TalkerRow> talker_prompt(const ModelConfig& config, std::span<const int32_t> ids,
                                     int32_t speaker, int32_t first);

/// The text beside frame `frame` of the talker, its first being 0: the thinker's id after the ones
/// before, behind its last one tts_eos, and then tts_pad. `written` is what the thinker wrote so
/// far, without the end of its turn; `ended` says that no more comes. Nothing when the thinker is
/// behind.
std::optional<int32_t> talker_text(const TextIds& text, std::span<const int32_t> written,
                                   bool ended, int64_t frame);

}  // namespace syrinx::qwen3_omni
