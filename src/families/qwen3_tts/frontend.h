// Turns text into the talker's input rows. A row has a text id and a codec id, whose embeddings are
// added. Each id may be absent (-1). With a cloned voice, a row may have the voice's vector or a
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

/// An input row: the sum of the embeddings of its ids. -1 means that the row lacks the id.
struct PromptRow {
  int32_t text = -1;
  int32_t codec = -1;
  int32_t frame = -1;  ///< frame of the voice's recording, used instead of a codec id
};
/// Value of PromptRow::codec for a row that has the voice's vector.
inline constexpr int32_t kVectorRow = -2;

/// The ids of the chosen speaker and language, whose rows precede the text.
struct VoiceChoice {
  int32_t speaker = -1;    ///< codec id; -1: no speaker row, unless by_vector
  bool by_vector = false;  ///< the speaker's row has a vector instead of an id
  int32_t language = -1;   ///< codec id; -1: the model chooses the language
};

/// Makes the rows of prompts with one tokenizer.
class Frontend {
 public:
  /// Control tokens in a client's text are read as plain text. Throws LoadError if the tokenizer
  /// does not split the role of a turn as in the model's training.
  Frontend(const ModelConfig& config, Tokenizer tokenizer);

  /// Looks up names, ignoring case. An empty voice means default_voice(), "none" means no speaker.
  Result<VoiceChoice> choose(const std::string& voice, const std::string& language) const;
  /// Returns "vivian" if the checkpoint has this speaker; else its first speaker, or "none".
  std::string default_voice() const;

  /// Returns the ids of a turn's text, without the ids of the role before it. The text must not
  /// begin with a newline, which would merge with the role's newline: see turn_text().
  std::vector<int32_t> text_ids(std::string_view text) const;
  static std::string_view turn_text(std::string_view text);
  /// Returns an encoder for text in pieces. Push kRoleText first; drop the first kRoleIds ids.
  StreamEncoder stream() const;
  static constexpr std::string_view kRoleText = "assistant\n";
  static constexpr int kRoleIds = 2;

  /// Returns the rows of the instruction and the role, then the rows of codec control. The rows of
  /// the text come after them.
  std::vector<PromptRow> head(const VoiceChoice& voice, std::string_view instructions) const;
  /// Adds the whole text to the prompt, then `frames` frames of the voice's recording.
  void add_whole_text(std::span<const int32_t> text, int32_t frames,
                      std::vector<PromptRow>& rows) const;
  /// Adds the row of codec bos and rows of frames. Each has one text id, which is filled in later.
  void add_beside_text(int32_t frames, std::vector<PromptRow>& rows) const;

 private:
  std::vector<int32_t> instruction_ids(std::string_view instructions) const;
  std::vector<int32_t> encode(const std::string& text) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
  std::vector<int32_t> role_;  // ids of the assistant's role: im_start, "assistant", newline
};

}  // namespace syrinx::qwen3_tts
