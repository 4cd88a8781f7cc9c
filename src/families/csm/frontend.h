// Text to the rows that the backbone is fed. A row is a text id or a frame of audio: text turns are
// <|begin_of_text|>[speaker]text<|end_of_text|>, a turn's audio is its frames and an end frame.
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

  /// Throws LoadError when the tokenizer lacks a control token.
  explicit Frontend(Tokenizer tokenizer);

  /// A speaker is a number in [0, kMaxSpeaker]; "" is 0.
  Result<int> speaker(const std::string& voice) const;
  /// Ids of a turn. Control tokens written out in a client's text are plain text.
  std::vector<int32_t> turn(int speaker, std::string_view text) const;
  /// How many of them stand for no text.
  static constexpr int kControlIds = 2;

 private:
  Tokenizer tokenizer_;
  int32_t begin_ = 0, end_ = 0;
};

}  // namespace syrinx::csm
