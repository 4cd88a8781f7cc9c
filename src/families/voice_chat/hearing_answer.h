// An answer to a prompt with recordings. Some rows of the prompt are places for recordings. Another
// network fills them with ids (a speech tokenizer) or with vectors (an audio tower). Values for
// later networks are held back until all text before them is sent, because text may turn out to be
// a stop string, which must not be spoken. Made on the caller's thread, then used by one thread at
// a time.
#pragma once

#include <deque>

#include "families/llm/answer.h"
#include "families/llm/heard_rows.h"
#include "families/voice_chat/chat_prompt.h"

namespace syrinx {

class HearingAnswer : public llm::Answer, public Hearer {
 public:
  static constexpr int kHearing = 1;  ///< input port for the output of the hearing network

  int heard_rows(int rows) const override { return rows_.before(rows); }
  bool ready() const override { return rows_.complete(); }
  int known_rows() const override { return ready() ? prompt_rows() : rows_.missing(); }
  /// Appends the keys of ids and recordings up to the first row without a key.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override;
  /// Returns no draft if the text is prescribed, because each position then has its own rule.
  std::span<const int32_t> draft() const override {
    return said_.empty() ? Answer::draft() : std::span<const int32_t>();
  }
  Status take(int port, const Frames& frames) override;
  std::span<const Heard> heard() const override { return heard_; }
  /// Writes the vector of a recording's row instead of its id.
  void rows(int first, bool companion, InputRows& out) const override;

 protected:
  /// `width`: width of the rows for the places. 0: each place gets a number, added to its id.
  HearingAnswer(const llm::ModelConfig& config, const llm::Generation& generation,
                const Tokenizer& tokenizer, const SpeechRequest& request, ChatPrompt prompt,
                int64_t width);

  /// Returns the text of the answer, if a text is only read aloud.
  std::span<const int32_t> said() const { return said_; }
  /// Queues `value`. next_passed() returns it after the text so far is sent.
  void hold_back(int32_t value) { held_back_.push_back({value, text().known()}); }
  /// Removes and returns the next value that may be sent. Returns nullopt if none may be sent now.
  std::optional<int32_t> next_passed();

 private:
  struct HeldBack {
    int32_t value = 0;
    int64_t end = 0;  // number of bytes of the text before the value
  };
  llm::HeardRows rows_;
  const bool as_ids_;
  const std::vector<Heard> heard_;
  const std::vector<uint64_t> keys_;  // prefix keys of the places
  const std::vector<int32_t> said_;
  std::deque<HeldBack> held_back_;
};

}  // namespace syrinx
