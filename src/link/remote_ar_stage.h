// An AR node of a pipeline whose steps run in another process: for the engine a stage like others,
// whose step() sends rows and pages over a link and waits for the codes. Which rows run together,
// and when, and which page holds what, stays with the engine; the cache and copies of the sequences
// (RemoteSequence) are there. No family knows of it.
//
// Several processes may hold the node: its cache is in one of them, the one with the fewest streams
// when that is chosen. When it is lost, what is needed is computed again in another, or in the same
// one if that is back soon: the same rows of the same sequences into pages of the same numbers. For
// the engine nothing has happened (CONTRACT.md, I2), and only time has passed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "link/stage_copy.h"
#include "model/pipeline.h"
#include "model/step.h"

namespace syrinx {

class RemoteArStage : public ArStage {
 public:
  /// `here` outlives this. At least one copy.
  RemoteArStage(std::string name, const ArStage& here, std::vector<StageCopy> copies);

  const ArTraits& traits() const override { return here_.traits(); }
  void forward(StepContext&, const ArBatch&, View hidden) const override;
  void logits(StepContext&, int k, const ArBatch&, View hidden, View codes,
              View out) const override;

  bool remote() const override { return true; }
  /// Steps sequences that are RemoteSequences. One that can be computed nowhere fails alone
  /// (StepResults::faults); if a step was at work in two processes that went away, all of its
  /// sequences do: they may be what ended them.
  void step(const Step& step, StepResults& out) const override;

  std::span<const StageCopy> copies() const { return copies_; }

 private:
  /// Where the cache is.
  struct Home {
    const StageCopy* copy = nullptr;
    uint64_t epoch = 0;
    uint64_t number = 0;          ///< of homes so far
    std::vector<uint64_t> homes;  ///< of each page: the home that has what the engine thinks
    int pages_sent = 0;
    StageLink& link() const { return *copy->link; }
  };
  struct Attempt;

  bool find_home(int pages) const;
  void settle(Attempt& attempt) const;
  void compute_again(Attempt& attempt) const;
  void send(Attempt& attempt) const;
  /// Everything came, some cannot go on and the others must be tried again, or the process went.
  enum class Received { kAll, kFaults, kNothing };
  Received receive(Attempt& attempt) const;
  void count_again(const Attempt& attempt) const;
  void take(Attempt& attempt, std::string_view body) const;

  const std::string name_;
  const ArStage& here_;
  const std::vector<StageCopy> copies_;
  mutable Home home_;  // of the one thread that calls step()
};

}  // namespace syrinx
