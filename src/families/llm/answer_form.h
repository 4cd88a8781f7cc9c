// The form of an answer that must be JSON: its possible beginnings, of which the model chooses one,
// and the grammar of the JSON that follows. The answer ends with the JSON. Used by one thread.
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
    std::vector<int32_t> begins;  ///< ids before the JSON; may be empty
    JsonGrammar grammar;
    int closers = 0;  ///< closing braces after the JSON, for objects that `begins` opened
  };

  /// Makes a form that allows any text.
  AnswerForm() = default;
  /// Makes a form with these alternatives. Without `masks`, the JSON is only checked, and the
  /// sampler does not enforce it.
  AnswerForm(std::vector<One> all, std::shared_ptr<const TokenMasks> masks);
  AnswerForm(AnswerForm&&) = default;
  AnswerForm& operator=(AnswerForm&&) = default;

  bool any_text() const { return all_.empty(); }
  /// Returns whether some position has more possible next ids than a rule can hold.
  bool too_many() const { return beginnings_.too_many(); }
  /// Restricts `rule` to the ids that may follow `said`, which is all of the answer so far.
  void restrict(std::span<const int32_t> said, SampleRule& rule) const;
  /// Processes the last id of the answer `said`; its text is `bytes`. When the JSON is complete,
  /// returns how many of these bytes belong to it. The answer ends there.
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
  std::vector<Mask> made_;  // recently made masks; the last one is in use
};

}  // namespace syrinx::llm
