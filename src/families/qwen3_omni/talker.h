// The input rows of Qwen3-Omni's talker: a text part (an id of the thinker, or the thinker's row of
// a recording) plus a codec part (empty, an id, or a frame). The thinker may be slower than the
// talker: a row's text is needed only when the row runs. Free functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "families/qwen3_omni/config.h"

namespace syrinx::qwen3_omni {

/// A row of the talker's prompt.
struct TalkerRow {
  int32_t text = -1;   ///< an id of the thinker's vocabulary
  int32_t heard = -1;  ///< position of the thinker whose row replaces the text id; -1: none
  int32_t codec = -1;  ///< id of the talker's vocabulary; -1: no id
  bool operator==(const TalkerRow&) const = default;
};

/// Returns the talker's prompt for the thinker's prompt `ids`. It has only the turns of users, then
/// the beginning of the answer: the three ids of its turn's head, the speaker, and `first`, the
/// thinker's first id. The rows after the prompt get the thinker's next ids as text, then tts_eos,
/// then tts_pad. `ids` must end with the head of the answer's turn.
std::vector<TalkerRow> talker_prompt(const ModelConfig& config, std::span<const int32_t> ids,
                                     int32_t speaker, int32_t first);

/// Returns the text id beside the talker's frame `frame`, counted from 0: the thinker's next id, or
/// after its last id tts_eos, then tts_pad. `written`: the thinker's ids so far, without the end of
/// its turn. `ended`: no more ids will come. Returns nullopt if the id is not written yet.
std::optional<int32_t> talker_text(const TextIds& text, std::span<const int32_t> written,
                                   bool ended, int64_t frame);

}  // namespace syrinx::qwen3_omni
