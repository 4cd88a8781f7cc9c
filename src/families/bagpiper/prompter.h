// Makes the ids of a prompt from messages. A conversation consists of parts. Each has a role, a
// kind and a content, which is words or a recording. A part ends with kEndPart if the next part has
// the same role, else with kEnd. In prompts only stream 0 has ids. Const after construction; any
// thread. Source: espnet:espnet2/speechlm/model/speechlm/speechlm_job.py (SpeechLMPreprocessor).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/bagpiper/config.h"
#include "model/request.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::bagpiper {

class Prompter {
 public:
  /// The value of a prompt's id where the prompt has a row of a recording instead.
  static constexpr int32_t kHeardRow = -1;

  explicit Prompter(Tokenizer tokenizer);

  /// Returns the prompt of a conversation, up to the beginning of the answer's words. `rows`:
  /// number of rows of each recording, in order.
  Result<std::vector<int32_t>> conversation(const Chat& chat, std::span<const int64_t> rows) const;
  /// Returns the prompt for reading a text aloud: a scene like `description`, in which a voice says
  /// the text.
  std::vector<int32_t> reading(std::string_view text, std::string_view description) const;
  /// Returns the words of the scene of reading().
  static std::string scene(std::string_view text, std::string_view description);

  /// Returns the bytes of a text id; empty for special ids.
  std::string bytes(int32_t id) const;

 private:
  Tokenizer tokenizer_;
};

}  // namespace syrinx::bagpiper
