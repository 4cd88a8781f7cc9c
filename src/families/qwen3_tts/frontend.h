// Turns text into the talker's input rows. A row is a text id and a codec id, both embedded and
// added; either may be absent (-1). With a cloned voice, a row may have the voice's vector or a
// frame of its recording instead of the codec id. Const after construction; any thread.
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

/// An input row: the sum of the embeddings of its ids; -1: none.
struct PromptRow {
  int32_t text = -1;
  int32_t codec = -1;
  int32_t frame = -1;  ///< frame of the voice's recording, instead of a codec id
};
/// The value of PromptRow::codec for a row with the voice's vector.
inline constexpr int32_t kVectorRow = -2;

/// The ids of the chosen speaker and language, which precede the text.
struct VoiceChoice {
  int32_t speaker = -1;    ///< codec id; -1: no speaker row, unless by_vector
  bool by_vector = false;  ///< the speaker's row has a vector instead of an id
  int32_t language = -1;   ///< codec id; -1: the model decides
};

/// Makes the rows of prompts with one tokenizer.
class Frontend {
 public:
  /// Control tokens in a client's text become plain text. Throws LoadError if the tokenizer does
  /// not split a turn's role as in the model's training.
  Frontend(const ModelConfig& config, Tokenizer tokenizer);

  /// Looks up names, ignoring case; an empty voice is default_voice(), "none" means no speaker.
  Result<VoiceChoice> choose(const std::string& voice, const std::string& language) const;
  /// Returns "vivian" if the checkpoint has it, else its first speaker, else "none".
  std::string default_voice() const;

  /// Returns the ids of a turn's text, without those of the role before it. The text must not begin
  /// with a newline, which would merge with the role's newline: see turn_text().
  std::vector<int32_t> text_ids(std::string_view text) const;
  static std::string_view turn_text(std::string_view text);
  /// Returns an encoder for text that arrives in pieces: push kRoleText, drop kRoleIds ids.
  StreamEncoder stream() const;
  static constexpr std::string_view kRoleText = "assistant\n";
  static constexpr int kRoleIds = 2;

  /// Returns the rows of instruction and role, then the codec control rows; the text's rows follow
  /// them.
  std::vector<PromptRow> head(const VoiceChoice& voice, std::string_view instructions) const;
  /// Adds all text to the prompt, then `frames` frames of the voice's recording.
  void add_whole_text(std::span<const int32_t> text, int32_t frames,
                      std::vector<PromptRow>& rows) const;
  /// Adds the frames with text beside them, one id a row; these ids are filled in later.
  void add_beside_text(int32_t frames, std::vector<PromptRow>& rows) const;

 private:
  std::vector<int32_t> instruction_ids(std::string_view instructions) const;
  std::vector<int32_t> encode(const std::string& text) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
  std::vector<int32_t> role_;  // ids of the assistant's role: im_start, "assistant", newline
};

}  // namespace syrinx::qwen3_tts
