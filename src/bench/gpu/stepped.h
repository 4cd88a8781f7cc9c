// Sequences of a model that are stepped together without an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/batch.h"
#include "engine/executor.h"
#include "model/pipeline.h"

namespace syrinx {

class Stepped {
 public:
  struct Run {
    std::unique_ptr<Sequence> state;
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    int cached = 0, steps = 0;
  };

  /// Reserves space for `most` sequences of up to `positions` positions.
  Stepped(const Pipeline& pipeline, int most, int positions);
  /// Begins `size` requests for the same text, each with its own seed. Throws LoadError if the
  /// model refuses them.
  void open(const std::string& text, int size);
  /// Runs a step of all sequences. The first step runs their prompts. Returns the seconds that the
  /// executor took. Throws LoadError if the step fails.
  double step();
  /// Replaces the codes of all later steps by the first code that each request may choose, for a
  /// device that does not sample codes.
  void replace_codes() { replaces_codes_ = true; }
  /// Returns whether the cache may lack space for the next two steps.
  bool is_full() const;

  int size() const { return static_cast<int>(runs_.size()); }
  const Run& run(int i) const { return runs_[static_cast<size_t>(i)]; }
  /// Returns the bytes of a position in the cache.
  double kv_bytes() const { return kv_bytes_; }
  Batch& batch() { return batch_; }
  Executor& executor() { return *executor_; }

 private:
  const Pipeline& pipeline_;
  const int pages_each_;
  bool replaces_codes_ = false;
  double kv_bytes_ = 0;
  std::vector<KvPool> kv_;
  std::unique_ptr<Executor> executor_;
  Batch batch_;
  std::vector<Run> runs_;
};

}  // namespace syrinx
