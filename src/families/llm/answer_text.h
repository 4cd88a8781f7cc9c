// The text of an answer while its tokens come: whole characters of UTF-8, and nothing of a stop
// string. What could yet become a stop string, and the bytes of a character that is not complete,
// wait for what follows. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::llm {

class AnswerText {
 public:
  /// The stop strings must not be empty. `spells_bytes`: a U+FFFD for each byte of an error;
  /// `drops_blank`: a blank that the answer begins with is not part of it
  /// (text/tokens/tokenizer.h).
  explicit AnswerText(std::vector<std::string> stops, bool spells_bytes = false,
                      bool drops_blank = false)
      : stops_(std::move(stops)), spells_bytes_(spells_bytes), drops_blank_(drops_blank) {}

  /// The bytes of a token; returns the text that is certain now. After a stop string was found,
  /// nothing more comes.
  std::string push(std::string_view bytes);
  /// Ends the answer without a stop string. Returns the rest of its text.
  std::string finish();

  bool stopped() const { return stopped_; }
  /// Bytes of text that push() and finish() returned so far, and those that are known.
  int64_t told() const { return told_; }
  int64_t known() const { return told_ + static_cast<int64_t>(waiting_.size()); }

 private:
  std::string tell(size_t size);
  std::string repaired(std::string_view bytes) const;

  const std::vector<std::string> stops_;
  const bool spells_bytes_;
  bool drops_blank_;     // until the first byte
  std::string bytes_;    // of a character that is not complete
  std::string waiting_;  // text that may be the beginning of a stop string
  int64_t told_ = 0;
  bool stopped_ = false;
};

}  // namespace syrinx::llm
