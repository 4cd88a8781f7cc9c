// Text to the rows that the talker is fed. A row is a text id and a codec id, both embedded and
// added; either may be absent (-1). Const after construction; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/qwen3_tts/config.h"

namespace syrinx::qwen3_tts {

/// Cuts plain text into ids; control tokens written out in it are plain text too.
using TextEncoder = std::function<std::vector<int32_t>(std::string_view)>;

struct PromptRow {
  int32_t text = -1;
  int32_t codec = -1;
};

/// What stands before the text: checked names, as ids.
struct VoiceChoice {
  int32_t speaker = -1;   ///< codec id; -1: no speaker row
  int32_t language = -1;  ///< codec id; -1: the model decides
};

class Frontend {
 public:
  Frontend(const ModelConfig& config, TextEncoder encode);

  /// Names are matched without case; an empty voice is default_voice(), "none" no speaker.
  Result<VoiceChoice> choose(const std::string& voice, const std::string& language) const;
  /// "vivian" where the checkpoint has it, else its first speaker, else "none".
  std::string default_voice() const;

  /// Ids of text that begins the assistant's turn, without the turn's own three.
  std::vector<int32_t> first_text(std::string_view text) const;
  /// Ids of text that follows at a place that cut() allows.
  std::vector<int32_t> more_text(std::string_view text) const { return encode_(text); }
  /// Bytes at the front of `text`, more of which is to come, whose ids are final.
  static size_t cut(std::string_view text);

  /// Instruction and role rows, then codec control rows; the text's own rows come after them.
  std::vector<PromptRow> head(const VoiceChoice& voice, std::string_view instructions) const;
  /// All text in the prompt.
  void add_whole_text(const std::vector<int32_t>& text, std::vector<PromptRow>& rows) const;
  /// Only the first id of the text in the prompt, or -1 when it is yet to come.
  void add_first_text(int32_t id, std::vector<PromptRow>& rows) const;

  /// The ids as the authors' tokenizer gives them for the whole turn; for traces and tests.
  std::vector<int32_t> turn_ids(std::string_view text) const;
  std::vector<int32_t> instruction_ids(std::string_view instructions) const;

 private:
  const ModelConfig& config_;
  TextEncoder encode_;
  std::vector<int32_t> role_;  // of the assistant's turn: im_start, "assistant", newline
};

}  // namespace syrinx::qwen3_tts
