// An AR node of a pipeline whose steps run in another process. The engine uses it like any stage.
// Its step() sends rows and pages over a link and waits for the codes. The engine still plans
// batches and assigns pages. The cache and copies of the sequences (RemoteSequence) are in the
// other process. Families need no code for it.
//
// Several processes may hold the node. The cache is in the process that had the fewest streams when
// it was chosen. When that process is lost, the needed rows are computed again in another process,
// or in the same process if it returns soon. Rows, sequences and page numbers are equal to the lost
// ones, so only the time differs for the engine (CONTRACT.md, I2).
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
  /// `here` must outlive this object. `copies` must not be empty.
  RemoteArStage(std::string name, const ArStage& here, std::vector<StageCopy> copies);

  const ArTraits& traits() const override { return here_.traits(); }
  void forward(StepContext&, const ArBatch&, View hidden) const override;
  void logits(StepContext&, int k, const ArBatch&, View hidden, View codes,
              View out) const override;

  bool remote() const override { return true; }
  /// Runs a step of RemoteSequences. A sequence that no process can compute fails alone
  /// (StepResults::faults). If two processes are lost while they run a step, all sequences of the
  /// step fail, because the step may have ended both processes.
  void step(const Step& step, StepResults& out) const override;

  std::span<const StageCopy> copies() const { return copies_; }

 private:
  /// The process that has the cache.
  struct Home {
    const StageCopy* copy = nullptr;
    uint64_t epoch = 0;
    uint64_t number = 0;          ///< counts the homes so far
    std::vector<uint64_t> homes;  ///< for each page, number of the home that has its right contents
    int pages_sent = 0;
    StageLink& link() const { return *copy->link; }
  };
  struct Attempt;

  bool find_home(int pages) const;
  void settle(Attempt& attempt) const;
  void compute_again(Attempt& attempt) const;
  void send(Attempt& attempt) const;
  /// kAll: all results arrived. kFaults: some sequences failed, and the other sequences must be run
  /// again. kNothing: the process was lost.
  enum class Received { kAll, kFaults, kNothing };
  Received receive(Attempt& attempt) const;
  void count_again(const Attempt& attempt) const;
  void take(Attempt& attempt, std::string_view body) const;

  const std::string name_;
  const ArStage& here_;
  const std::vector<StageCopy> copies_;
  mutable Home home_;  // used only by the one thread that calls step()
};

}  // namespace syrinx
