// Cuts a text for Pocket TTS into chunks of at most 50 ids, if its sentences allow that. Each chunk
// is normalised to a form that occurred in the model's training. Const after construction; any
// thread. Chunks and ids equal those of the authors' pocket_tts/models/text_chunking.py.
#pragma once

#include <string>
#include <vector>

#include "families/pocket_tts/config.h"
#include "text/tokens/unigram.h"

namespace syrinx::pocket_tts {

class TextReader {
 public:
  static constexpr int64_t kMostIds = 50;  ///< ids of a chunk; a single clause may have more

  /// Throws LoadError if the tokenizer has more ids than the model.
  TextReader(const ModelConfig& config, Unigram tokenizer);

  /// Cuts a text into chunks. Returns their texts in order.
  std::vector<std::string> chunks(const std::string& text) const;
  struct Ids {
    std::vector<int32_t> ids;
    int tail = 0;  ///< frames of speech after the code that announces the end
  };
  /// Returns the ids of a chunk. Empty if the chunk is blank.
  Ids read(const std::string& chunk) const;

 private:
  struct Prepared {
    std::string text;
    bool brief = false;  ///< whether the chunk has few words
  };
  /// Returns the normalised form of a chunk. Empty if the chunk is blank.
  Prepared prepared(const std::string& text) const;
  /// Pieces of a text: the number of ids and the text of each piece.
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
