// Turns text into the ids that VoxCPM2 reads. Const after construction; thread-safe.
// Source: VoxCPM:src/voxcpm/{core.py,model/utils.py}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "families/voxcpm2/config.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::voxcpm2 {

class Prompter {
 public:
  // Ids that the authors' program defines.
  static constexpr int32_t kAudioStart = 101, kReferenceStart = 103, kReferenceEnd = 104;

  /// Throws LoadError if the tokenizer has ids that the model does not have.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Returns the ids of a text. A token of several Chinese characters is replaced by the tokens of
  /// its characters. Control tokens in a client's text are read as plain text.
  std::vector<int32_t> text(std::string_view text) const;

 private:
  void find_chinese(int32_t unknown);

  Tokenizer tokenizer_;
  // Maps the id of a token of several characters to the ids of the characters.
  std::unordered_map<int32_t, std::vector<int32_t>> characters_;
};

/// Returns a text in which each run of white space is one space.
std::string one_spaced(std::string_view text);

}  // namespace syrinx::voxcpm2
