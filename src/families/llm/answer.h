// One request: the ids of its prompt and of the answer so far, guesses of the next ids, and the
// answer's text. An id is one step. Guesses come from the client's expected answer, from an
// earlier place of prompt or answer with the same newest ids (prompt lookup), or from Jacobi
// decoding. While the answer equals the expected one, a request may accept the next expected
// id although another id was drawn. Made on the caller's thread, then used by one thread at a
// time.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "families/llm/answer_form.h"
#include "families/llm/answer_text.h"
#include "families/llm/config.h"
#include "families/llm/prompter.h"
#include "model/input_rows.h"
#include "model/pipeline.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::llm {

/// The sequence of one answer.
class Answer : public Sequence {
 public:
  /// Checks the request. `generation` and `prompter` must outlive the answer.
  static Result<std::unique_ptr<Answer>> open(const ModelConfig& config,
                                              const Generation& generation,
                                              const Prompter& prompter,
                                              const SpeechRequest& request);

  int prompt_rows() const override { return prompt_rows_; }
  int max_steps() const override { return max_steps_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override;
  std::span<const int32_t> prompt_ids() const override {
    return std::span(ids_).first(static_cast<size_t>(prompt_rows_));
  }
  int scores() const override { return scores_; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return rule_behind(0); }
  SampleRule drafted_rule(int guesses) const override { return rule_behind(guesses); }
  /// Returns the ids of prompt and answer: transformers counts both for penalties.
  std::span<const int32_t> history(int) const override { return std::span(ids_).first(known_); }
  std::span<const int32_t> draft() const override { return std::span(ids_).subspan(known_); }
  std::span<const int32_t> drafted_history(int guesses) const override {
    return std::span(ids_).first(known_ + static_cast<size_t>(guesses));
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  void missed(std::span<const int32_t> codes) override;

  /// Sets the id of a row for table 0: an id of the prompt or answer, or a guess.
  void rows(int first, bool companion, InputRows& out) const override;

 protected:
  Answer(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
         const SpeechRequest& request, std::vector<int32_t> prompt);
  int32_t id_at(int pos) const { return ids_[static_cast<size_t>(pos)]; }
  /// Sets the id of a prompt row that was unknown when the prompt was made.
  void fill(int pos, int32_t id) { ids_[static_cast<size_t>(pos)] = id; }
  int steps() const { return static_cast<int>(known_) - prompt_rows_; }
  const AnswerText& text() const { return text_; }

 private:
  /// A token whose text has not been sent yet.
  struct Held {
    int64_t begin, end;  // range [begin, end) of its bytes in the answer
    ScoredToken token;
  };
  SampleRule rule_behind(int guesses) const;
  Status shape(const Prompter& prompter, const Chat& chat);
  void take_id(int32_t id);
  void guess();
  bool guess_expected();
  bool guess_from(std::span<const int32_t> text, size_t at);
  bool begins_as(std::span<const int32_t> text) const;
  void fill_block();
  void hold(int32_t id, int64_t begin, const StepScores* scores);
  void tell(std::string text, StepOutput& out);

  const Generation& generation_;
  const Tokenizer& tokenizer_;
  const int32_t ids_known_;  // ids below this number have a text
  const bool ignore_stop_;
  const int scores_;
  SampleParams sampling_;
  std::vector<int32_t> ids_;  // ids of the prompt, then of the answer, then guesses
  size_t known_;              // number of ids that are not guesses
  const int prompt_rows_;
  int max_steps_ = 1;
  const std::vector<int32_t> expected_;
  size_t expected_at_ = 0;  // index in expected_ of the next id; expected_.size(): no position
  size_t alike_ = 0;        // number of first ids that answer and expected_ have in common
  const std::vector<int32_t> instead_;  // RequestWriting::expected_instead
  const int among_;         // RequestWriting::expected_among
  const size_t settled_;    // number of first ids of expected_ that are accepted in any case
  const int jacobi_;
  AnswerForm form_;  // form of a required tool call, or of JSON
  AnswerText text_;
  std::deque<Held> held_;
};

}  // namespace syrinx::llm
