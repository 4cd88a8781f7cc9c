// One request: its references, its text in messages, and the frames so far. A message is a segment:
// it hears the references and the messages before it with their audio, and of more than kMostPast
// rows only the first (families/past.h). Made on the caller's thread, then touched by the engine's
// thread only. C codes a frame.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "families/fish_speech/prompter.h"
#include "families/prompt_row.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/sentences.h"

namespace syrinx::fish_speech {

class State : public Sequence {
 public:
  /// Steps that a prompt must leave, of at most so many positions: the authors' bound.
  static constexpr int64_t kLeastSteps = 2048;
  static constexpr int64_t kMostPast = 2048;  ///< rows of earlier messages: a minute and a half

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, static_cast<int>(prompt_.size())); }
  int max_steps() const override;
  bool ready() const override { return !prompt_.empty(); }
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int k) const override { return sampling_[k > 0]; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// A row is an id of text, or of a frame its first code's id and C codes: ids [1 + C].
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  /// A message that was spoken.
  struct Message {
    std::vector<int32_t> text, frames;
    int64_t rows(int64_t codebooks) const {
      return static_cast<int64_t>(text.size()) + static_cast<int64_t>(frames.size()) / codebooks;
    }
  };
  void row(int pos, std::span<int32_t> slots) const;

  State(const ModelConfig& config, const Prompter& prompter)
      : config_(config), prompter_(prompter) {}
  Status take_references(const SpeechRequest& request);
  Status add_reference(const std::string& text, int speaker, std::span<const int32_t> codes,
                       const std::string& what, const char* param);
  void set_sampling(const SpeechRequest& request);
  void set_text(const SpeechRequest& request);
  void add_sentences(std::span<const SentenceStream::Item> sentences);
  /// A part of the request's text from byte `begin` on, with what it and its lexicon say otherwise.
  std::string as_said(std::string_view part, size_t begin) const;
  int next_segment();
  bool begin_segment(const std::string& text);
  void add_ids(std::span<const int32_t> ids);
  void add_frames(std::span<const int32_t> frames);
  int64_t least_steps() const { return std::min(kLeastSteps, config_.max_positions / 2); }
  int64_t fixed_rows() const;
  Verdict end_segment();
  int64_t steps() const { return static_cast<int64_t>(firsts_.size()); }

  const ModelConfig& config_;
  const Prompter& prompter_;
  SampleParams sampling_[2];  // of the slow network and of the fast one
  int max_frames_ = 0;
  bool ignore_stop_ = false;

  bool open_ = false;         // more text may come
  SentenceStream sentences_;  // of text that comes in pieces
  std::vector<Saying> sayings_;
  std::shared_ptr<const Lexicon> lexicon_;
  std::string tag_;                // of who speaks, for what comes without one
  std::deque<std::string> later_;  // messages to come
  bool spoke_ = false;             // a message has begun
  bool closing_ = false;           // this segment is only there to end the request

  std::string reference_text_;
  std::vector<int32_t> reference_frames_;  // [T, C]
  int64_t heard_rows_ = 0;                 // of the prompt, before this message
  std::deque<Message> past_;
  std::vector<int32_t> text_;      // of this message
  std::vector<PromptRow> prompt_;  // empty while there is nothing to speak
  std::vector<int32_t> ids_;       // of the prompt: those of text, and those that stand for frames
  std::vector<int32_t> frames_;    // [*, C]: of the prompt, then of the steps
  int64_t first_frame_ = 0;        // of the steps
  int64_t frames_before_ = 0;      // spoken in earlier segments
  std::vector<int32_t> firsts_;    // code 0 of each step
};

}  // namespace syrinx::fish_speech
