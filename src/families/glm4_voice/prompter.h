// From a conversation to the ids of a prompt, as the authors' web demo writes it. Const once made;
// any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "families/glm4_voice/config.h"
#include "model/request.h"

namespace syrinx::glm4_voice {

/// A segment of a recording, as the speech tokenizer is to encode it.
struct Segment {
  int64_t samples = 0;  ///< at 16 kHz
  int64_t codes = 0;
  float loudest = 0;                ///< of its log-mel
  std::vector<uint64_t> keys = {};  ///< of its blocks: GlmSpeechTokenizer::keys()
};

/// What the language model reads before it answers.
struct Prompt {
  std::vector<int32_t> ids;       ///< code 0's id stands for each code of a recording
  std::vector<int32_t> places;    ///< where, in rising order
  std::vector<Segment> segments;  ///< of all recordings, in the order of their codes
  std::vector<uint64_t> keys;     ///< of those codes
  std::vector<int32_t> said;      ///< the answer's text, where it is only read aloud
};

class Prompter {
 public:
  Prompter(const Tokenizer& tokenizer, const Ids& ids, int64_t max_ids)
      : tokenizer_(tokenizer), ids_(ids), max_ids_(max_ids) {}

  /// `codes` of each recording, and answers that were heard, in the order of the chat's places for
  /// them. What clients write is text, special tokens too. The authors' sentence on how to answer
  /// follows the client's own system messages, if there are any.
  Result<Prompt> of_chat(const Chat& chat, std::span<const int64_t> codes,
                         std::span<const EarlierAnswer> answers) const;
  /// A user who says `text`, and the text itself as the answer.
  Result<Prompt> reading_aloud(const std::string& text) const;
  /// A text to be gone on with, special tokens included.
  Result<Prompt> of_text(const std::string& text) const;

 private:
  Result<Prompt> checked(Prompt prompt, const char* param) const;

  const Tokenizer& tokenizer_;
  const Ids ids_;
  const int64_t max_ids_;
};

}  // namespace syrinx::glm4_voice
