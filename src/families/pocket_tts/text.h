// How Pocket TTS reads a text: chunks of at most 50 ids where sentences allow, each written in a
// form that the model was trained on. Const after construction; any thread.
// Formulas: pocket_tts/models/text_chunking.py, whose chunks and ids these are.
#pragma once

#include <string>
#include <vector>

#include "families/pocket_tts/config.h"
#include "text/tokens/unigram.h"

namespace syrinx::pocket_tts {

class TextReader {
 public:
  static constexpr int64_t kMostIds = 50;  ///< of a chunk, unless a clause has more

  /// Throws LoadError where the tokenizer does not have the ids of the model.
  TextReader(const ModelConfig& config, Unigram tokenizer);

  /// Chunks of a text, in its order; a chunk is a text.
  std::vector<std::string> chunks(const std::string& text) const;
  struct Ids {
    std::vector<int32_t> ids;
    int tail = 0;  ///< frames that belong to the speech after the end was said
  };
  /// Ids of a chunk; none of a blank one.
  Ids read(const std::string& chunk) const;

 private:
  struct Prepared {
    std::string text;
    bool brief = false;  ///< of few words
  };
  /// What a chunk is written as; empty for a blank one.
  Prepared prepared(const std::string& text) const;
  /// The pieces of `ids` that end behind marks, as the number of ids and the text.
  using Pieces = std::vector<std::pair<int64_t, std::string>>;
  Pieces cut(const std::vector<int32_t>& ids, const std::vector<int32_t>& marks,
             bool spare_decimals) const;
  bool within_a_number(const std::vector<int32_t>& ids, size_t at) const;

  TextRules rules_;
  int tail_;
  Unigram tokenizer_;
  std::vector<int32_t> ends_, pauses_;  // ids of marks
};

}  // namespace syrinx::pocket_tts
