// From messages to the ids of a prompt. A conversation is parts, each a role, a kind and what is
// said or heard; a part is ended by kEndPart where the next one is of the same role, by kEnd
// otherwise. In prompts only stream 0 has ids. Const after construction; any thread.
// Source: espnet:espnet2/speechlm/model/speechlm/speechlm_job.py (SpeechLMPreprocessor).
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
  /// Where a row of a recording stands.
  static constexpr int32_t kHeardRow = -1;

  explicit Prompter(Tokenizer tokenizer);

  /// What a conversation is answered after, up to where the words of the answer begin. `rows`: how
  /// many each recording has, in their order.
  Result<std::vector<int32_t>> conversation(const Chat& chat, std::span<const int64_t> rows) const;
  /// What a text is read aloud after: a scene in which it is said, as `description` has it.
  std::vector<int32_t> reading(std::string_view text, std::string_view description) const;
  /// The words of that request.
  static std::string scene(std::string_view text, std::string_view description);

  /// Returns the bytes of a text id; empty for special ids.
  std::string bytes(int32_t id) const;

 private:
  Tokenizer tokenizer_;
};

}  // namespace syrinx::bagpiper
