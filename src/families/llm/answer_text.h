// The text of an answer while its tokens arrive: whole characters of UTF-8, without stop strings.
// Text that may become a stop string, and the bytes of an incomplete character, are held back until
// more tokens arrive. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::llm {

class AnswerText {
 public:
  /// The stop strings must not be empty. `spells_bytes`: each byte of invalid UTF-8 becomes
  /// U+FFFD. `drops_blank`: a blank at the beginning of the answer is removed
  /// (text/tokens/tokenizer.h).
  explicit AnswerText(std::vector<std::string> stops, bool spells_bytes = false,
                      bool drops_blank = false)
      : stops_(std::move(stops)), spells_bytes_(spells_bytes), drops_blank_(drops_blank) {}

  /// Adds the bytes of a token; returns the text that has become certain. After a stop string was
  /// found, returns nothing more.
  std::string push(std::string_view bytes);
  /// Ends the answer without a stop string. Returns the rest of its text.
  std::string finish();

  bool stopped() const { return stopped_; }
  /// Return the number of bytes of text so far: of the returned text; and with held-back text.
  int64_t told() const { return told_; }
  int64_t known() const { return told_ + static_cast<int64_t>(waiting_.size()); }

 private:
  std::string tell(size_t size);
  std::string repaired(std::string_view bytes) const;

  const std::vector<std::string> stops_;
  const bool spells_bytes_;
  bool drops_blank_;     // remove a blank before the first byte
  std::string bytes_;    // bytes of an incomplete character
  std::string waiting_;  // text that may be the beginning of a stop string
  int64_t told_ = 0;
  bool stopped_ = false;
};

}  // namespace syrinx::llm
