// An answer to a prompt with recordings in it. Some of the prompt's rows, its places, are told by
// another network once it has heard: as ids (the codes of a speech tokenizer) or as rows that stand
// for the table's (those of an audio tower). And what an answer says beside its text, which goes on
// to other networks: no sooner than the text before it is told, for what may yet become a stop
// string is not spoken either.
// Made on the caller's thread, then touched by one thread at a time.
#pragma once

#include <deque>

#include "families/llm/answer.h"
#include "families/llm/heard_rows.h"

namespace syrinx::llm {

class HearingAnswer : public Answer {
 public:
  int heard_rows(int rows) const override { return rows_.before(rows); }
  bool ready() const override { return rows_.complete(); }
  int known_rows() const override { return ready() ? prompt_rows() : rows_.missing(); }
  /// Those of recordings by what they were made of. Rows without keys end them.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override;
  std::span<const float> row(int pos) const override { return rows_.row(pos); }

 protected:
  /// `places`: positions of the prompt, rising; `keys` of them, or none at all. `width` of rows; 0:
  /// ids are told.
  HearingAnswer(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
                const SpeechRequest& request, std::vector<int32_t> prompt,
                std::vector<int32_t> places, std::vector<uint64_t> keys, int64_t width);

  /// Rows [.., width] of the next places; `first` + the number in each row [.., 1] as their ids.
  void take_rows(const Frames& frames) { rows_.take(frames); }
  void take_ids(const Frames& frames, int32_t first);
  /// A step's id is one of the answer that later requests may bring back, unless it ended it.
  static void recall(int32_t id, const Verdict& verdict, StepOutput& out) {
    const bool ended = verdict.next == Verdict::kFinished && verdict.reason == FinishReason::kStop;
    if (!ended) out.answer_id(id);
  }
  /// `value` goes on once the text so far is told.
  void hold_back(int32_t value) { held_back_.push_back({value, text().known()}); }
  /// The next value that may go on.
  std::optional<int32_t> next_told();

 private:
  struct HeldBack {
    int32_t value = 0;
    int64_t end = 0;  // of the text before it
  };
  HeardRows rows_;
  const std::vector<uint64_t> keys_;  // of its places
  std::deque<HeldBack> held_back_;
};

}  // namespace syrinx::llm
