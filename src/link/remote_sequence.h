// A sequence of an AR node that runs in another process. The engine uses the family's sequence in
// this process for all scheduling. The calls that change it are kept (calls.h), so that the other
// process can make an equal sequence from the request and these calls. One thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "link/stage_copy.h"
#include "model/sequence.h"

namespace syrinx {

class RemoteSequence : public Sequence {
 public:
  /// `request`: bytes of request_bytes(). At most `most_bytes` of calls are kept. A sequence with
  /// more calls cannot be made again in another process.
  RemoteSequence(std::unique_ptr<Sequence> here, std::shared_ptr<const std::string> request,
                 size_t most_bytes);
  ~RemoteSequence() override;

  /// Appends messages to `bytes` that make or update the sequence's copy on connection `epoch` of
  /// `copy`. Returns false if the required calls were dropped.
  bool settle(const StageCopy& copy, uint64_t epoch, std::string& bytes);
  /// Returns the number of this sequence's copy in the other process.
  uint64_t number() const { return number_; }

  const Sequence& here() const override { return here_->here(); }

  int prompt_rows() const override { return here_->prompt_rows(); }
  int heard_rows(int rows) const override { return here_->heard_rows(rows); }
  int max_steps() const override { return here_->max_steps(); }
  bool ready() const override { return here_->ready(); }
  int known_rows() const override { return here_->known_rows(); }
  int64_t unused_frames() const override { return here_->unused_frames(); }
  std::optional<float> guidance() const override { return here_->guidance(); }
  float step_guidance(int k) const override { return here_->step_guidance(k); }
  int companion_rows() const override { return here_->companion_rows(); }
  void rows(int first, bool companion, InputRows& out) const override {
    here_->rows(first, companion, out);
  }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override {
    here_->prefix_keys(companion, keys);
  }
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override {
    here_->step_keys(companion, keys);
  }
  std::span<const int32_t> prompt_ids() const override { return here_->prompt_ids(); }
  bool tapped(int pos) const override { return here_->tapped(pos); }
  int scores() const override { return here_->scores(); }
  const SampleParams& sampling(int k) const override { return here_->sampling(k); }
  SampleRule rule(int k) const override { return here_->rule(k); }
  std::span<const int32_t> history(int k) const override { return here_->history(k); }
  std::span<const int32_t> draft() const override { return here_->draft(); }
  SampleRule drafted_rule(int guesses) const override { return here_->drafted_rule(guesses); }
  std::span<const int32_t> drafted_history(int guesses) const override {
    return here_->drafted_history(guesses);
  }

  void missed(std::span<const int32_t> codes) override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  Status take(int port, const Frames& frames) override;

 private:
  void note(std::string call);
  void leave();

  const std::unique_ptr<Sequence> here_;
  const std::shared_ptr<const std::string> request_;
  const size_t most_bytes_;
  std::deque<std::string> calls_;  // the calls in the form of link/calls.h
  size_t forgotten_ = 0;           // calls dropped before calls_
  size_t bytes_ = 0;               // bytes of calls_

  const StageCopy* copy_ = nullptr;  // null if no process has a copy
  uint64_t epoch_ = 0, number_ = 0;
  size_t told_ = 0;  // calls that the copy has received or that were dropped before
};

}  // namespace syrinx
