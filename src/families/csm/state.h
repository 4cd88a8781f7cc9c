// One request: the turns before it, its text in segments, and the frames so far. Made on the
// caller's thread, then touched by the engine's thread only. C codes a frame.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "families/csm/frontend.h"
#include "families/prompt_row.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/sentences.h"

namespace syrinx::csm {

/// What a request brings besides its text, checked.
struct Turn {
  std::vector<int32_t> ids;     ///< of the text, with its control ids
  std::vector<int32_t> frames;  ///< [T, C], without the end frame
};

class State : public Sequence {
 public:
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Defaults& defaults,
                                                const Frontend& frontend,
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

  /// A row is C codes or an id of text: ids [C + 1].
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  State(const ModelConfig& config, const Frontend& frontend)
      : config_(config), frontend_(frontend) {}
  Status take_context(const SpeechRequest& request);
  Status hear(const Turn& turn, const std::string& what, const char* param);
  void set_sampling(const Defaults& defaults, const SpeechRequest& request);
  void add_sentences(std::span<const SentenceStream::Item> sentences);
  void next_segment();
  void begin_segment(const std::string& text);
  void add_turn(const Turn& turn);
  Verdict end_segment();
  void row(int pos, std::span<int32_t> slots) const;
  int64_t rows_of(const Turn& turn) const;
  int64_t steps() const { return static_cast<int64_t>(firsts_.size()); }

  const ModelConfig& config_;
  const Frontend& frontend_;
  SampleParams sampling_[2];  // of codebook 0 and of the others
  int speaker_ = 0;
  int max_frames_ = 0;
  bool ignore_stop_ = false;

  bool open_ = false;              // more text may come
  SentenceStream sentences_;       // of text that comes in pieces
  std::deque<std::string> later_;  // segments to come
  bool spoke_ = false;             // a segment has begun
  bool closing_ = false;           // this segment is only there to end the request

  std::vector<Turn> context_;      // as given, the voice's recording first
  Turn before_;                    // the segment before this one
  std::vector<PromptRow> prompt_;  // empty while there is nothing to speak
  std::vector<int32_t> ids_;       // of the prompt, as the authors' processor writes it
  Turn now_;                       // this segment; its frames are at the end of frames_
  std::vector<int32_t> frames_;    // [*, C]: of the prompt, then of the steps
  int64_t first_frame_ = 0;        // of the steps
  int64_t frames_before_ = 0;      // spoken in earlier segments
  std::vector<int32_t> firsts_;    // codebook 0 of each step
};

}  // namespace syrinx::csm
