// Turns text into the backbone's input rows. A row is a text id or a frame of audio. The text of a
// turn is <|begin_of_text|>[speaker]text<|end_of_text|>. Its audio is its frames and an end frame.
// Const after construction; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::csm {

class Frontend {
 public:
  static constexpr const char* kBegin = "<|begin_of_text|>";
  static constexpr const char* kEnd = "<|end_of_text|>";
  static constexpr int kMaxSpeaker = 999;

  /// Throws LoadError if the tokenizer lacks a control token.
  explicit Frontend(Tokenizer tokenizer);

  /// Returns the ids of a turn. Control tokens in a client's text are read as plain text.
  std::vector<int32_t> turn(int speaker, std::string_view text) const;
  /// Number of the ids of a turn that do not belong to the text.
  static constexpr int kControlIds = 2;

 private:
  Tokenizer tokenizer_;
  int32_t begin_ = 0, end_ = 0;
};

}  // namespace syrinx::csm
