// The JSON that an answer must be, where it may not be any text: what it may begin with, of which
// the model chooses, and the grammar of what follows. It ends with the JSON. A value; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "families/llm/beginnings.h"
#include "families/llm/json_grammar.h"
#include "families/llm/token_masks.h"

namespace syrinx::llm {

class AnswerForm {
 public:
  struct One {
    std::vector<int32_t> begins;  ///< ids; empty: it begins with the JSON
    JsonGrammar grammar;
    int closers = 0;  ///< braces behind the JSON, of objects that `begins` has opened
  };

  /// Any text.
  AnswerForm() = default;
  /// Without masks the JSON is followed as long as the model writes it, but not asked for.
  AnswerForm(std::vector<One> all, std::shared_ptr<const TokenMasks> masks);
  AnswerForm(AnswerForm&&) = default;
  AnswerForm& operator=(AnswerForm&&) = default;

  bool any_text() const { return all_.empty(); }
  /// At some place there are more ways to begin than a rule can hold.
  bool too_many() const { return beginnings_.too_many(); }
  /// Restricts `rule` to what may come behind `said`, all of the answer so far.
  void restrict(std::span<const int32_t> said, SampleRule& rule) const;
  /// The answer is `said` now; `bytes` are those of its last id. Returns how many of them are part
  /// of the JSON, once it is whole: the answer ends there.
  std::optional<size_t> take(std::span<const int32_t> said, std::string_view bytes);

 private:
  struct Mask {
    JsonWriting behind;
    std::vector<uint64_t> bits;
  };
  void begin(std::span<const int32_t> said);
  void find_mask();

  std::vector<One> all_;
  std::shared_ptr<const TokenMasks> masks_;
  Beginnings beginnings_;
  std::optional<JsonWriting> writing_;
  std::vector<Mask> made_;  // the latest last; it is the one that counts
};

}  // namespace syrinx::llm
