// Text to the rows that the talker is fed. A row is a text id and a codec id, both embedded and
// added; either may be absent (-1). With a cloned voice, rows may have its vector or a frame of its
// recording instead of the codec id. Const after construction; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/qwen3_tts/config.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::qwen3_tts {

/// An input row: the sum of what it names; -1: nothing.
struct PromptRow {
  int32_t text = -1;
  int32_t codec = -1;
  int32_t frame = -1;  ///< of the voice's recording, instead of a codec id
};
/// As PromptRow::codec: the voice's vector.
inline constexpr int32_t kVectorRow = -2;

/// The ids before the text, of checked names.
struct VoiceChoice {
  int32_t speaker = -1;    ///< codec id; -1: no speaker row, but for by_vector
  bool by_vector = false;  ///< the speaker's row has a vector instead of an id
  int32_t language = -1;   ///< codec id; -1: the model decides
};

/// Makes the rows of prompts with one tokenizer.
class Frontend {
 public:
  /// Control tokens written out in a client's text are plain text. Throws LoadError when the
  /// tokenizer does not cut a turn's role as the model was made for.
  Frontend(const ModelConfig& config, Tokenizer tokenizer);

  /// Names are matched without case; an empty voice is default_voice(), "none" no speaker.
  Result<VoiceChoice> choose(const std::string& voice, const std::string& language) const;
  /// "vivian" where the checkpoint has it, else its first speaker, else "none".
  std::string default_voice() const;

  /// Ids of the text of a turn, without those of the role before it. A turn's text must not begin
  /// with a newline, which would join the role's own: see turn_text().
  std::vector<int32_t> text_ids(std::string_view text) const;
  static std::string_view turn_text(std::string_view text);
  /// The same for text that comes in pieces: push kRoleText first and drop the first kRoleIds ids.
  StreamEncoder stream() const;
  static constexpr std::string_view kRoleText = "assistant\n";
  static constexpr int kRoleIds = 2;

  /// Instruction and role rows, then codec control rows; the text's own rows come after them.
  std::vector<PromptRow> head(const VoiceChoice& voice, std::string_view instructions) const;
  /// All text in the prompt, then `frames` frames of the voice's recording.
  void add_whole_text(std::span<const int32_t> text, int32_t frames,
                      std::vector<PromptRow>& rows) const;
  /// The same frames with the text beside them, one id a row; the ids are yet to be put there.
  void add_beside_text(int32_t frames, std::vector<PromptRow>& rows) const;

 private:
  std::vector<int32_t> instruction_ids(std::string_view instructions) const;
  std::vector<int32_t> encode(const std::string& text) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
  std::vector<int32_t> role_;  // of the assistant's turn: im_start, "assistant", newline
};

}  // namespace syrinx::qwen3_tts
