// The decoder's input for one request: first its memory, which is the rows that the encoder made
// from a window, then ids. Made on the caller's thread, then used by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/whisper/config.h"
#include "families/whisper/window.h"
#include "kernels/id_limits.h"
#include "model/sequence.h"

namespace syrinx::whisper {

class AlignedText;

class DecoderText : public Sequence {
 public:
  int prompt_rows() const override { return memory_rows_ + prompt_; }
  bool ready() const override { return known_rows() == memory_rows_; }
  int known_rows() const override { return static_cast<int>(memory_->size()) / width_; }
  std::span<const int32_t> prompt_ids() const override {
    return std::span(ids_).first(static_cast<size_t>(prompt_));
  }
  std::span<const int32_t> history(int) const override { return ids_; }
  /// Appends keys for the memory if its rows were given, so that the attempts at a window share it.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;

  /// Returns the number of rows of the complete memory.
  int memory_rows() const { return memory_rows_; }
  /// Returns row `pos` < memory_rows() of the memory: [width].
  std::span<const float> memory(int pos) const {
    return std::span(*memory_).subspan(size_t(pos) * width_, width_);
  }
  /// Returns the id of row `pos`, which comes after the memory.
  int32_t input(int pos) const { return ids_[static_cast<size_t>(pos - memory_rows_)]; }
  /// Returns the limits of the next step's id, which borrow memory until the next call. Called by
  /// the executor that runs the step.
  virtual IdLimits limits() { return {}; }
  /// Returns the id whose probability in the next step note() must receive, before the limits.
  /// Negative: none.
  virtual int32_t noted() const { return -1; }
  /// Receives the probability of noted().
  virtual void note(float /*probability*/) {}
  /// Returns the window that the encoder must process. Null if its rows are given.
  virtual const WhisperWindow* audio() const { return nullptr; }
  /// Returns this object if it stores attention, else null.
  virtual AlignedText* aligned() { return nullptr; }

 protected:
  /// `memory` may have fewer rows at first and grow later.
  DecoderText(int width, int memory_rows, WindowRows memory);

  std::vector<int32_t> ids_;  // ids of the prompt, then of the steps
  int prompt_ = 0;

 private:
  const int width_, memory_rows_;
  const WindowRows memory_;  // [memory_rows_, W]; initially fewer rows
  uint64_t memory_key_ = 0;  // digest of the memory, if it is complete from the beginning; else 0
};

}  // namespace syrinx::whisper
