// The data of one server in a process that holds an AR node: sequences made from the server's
// requests, and the node's cache. Each step is checked against the state of the sequences. Wrong
// rows, pages or guesses are a fault of their sequence. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/calls.h"
#include "link/step_message.h"
#include "model/pipeline.h"
#include "model/step.h"

namespace syrinx {

/// A sequence made from a server's request.
class ServedSequence {
 public:
  /// Opens AR node `node` of the graph. A request that cannot be opened sets fault().
  ServedSequence(const Pipeline& pipeline, int node, std::string_view request);

  int node() const { return node_; }
  /// Applies a call of link/calls.h. Throws LoadError for an invalid call; an error of the sequence
  /// sets fault().
  void call(std::string_view call);
  /// Returns why the sequence has failed; an empty string if it has not.
  const std::string& fault() const { return fault_; }
  void set_fault(std::string why) { fault_ = std::move(why); }
  /// Returns why these rows cannot run, or an empty string. `pages`: number of pages of the cache.
  std::string check(const PushedSequence& rows, int pages) const;
  Sequence& sequence() const { return *sequence_; }

 private:
  std::string check_main(const PushedSequence& rows) const;

  const int node_;
  const ArStage& ar_;
  const std::vector<FrameType>& in_;
  std::unique_ptr<Sequence> sequence_;
  int steps_ = 0;  // steps of the segment
  bool over_ = false;
  std::string fault_;
};

/// The caches and sequences of one server's AR nodes.
class ServedSteps {
 public:
  /// Runs a step of a stage; may throw the stage's exceptions.
  using Run = std::function<void(const ArStage&, const Step&, StepResults&)>;
  ServedSteps(const Pipeline& pipeline, size_t most_kv_bytes, Run run)
      : pipeline_(pipeline), most_kv_bytes_(most_kv_bytes), run_(std::move(run)) {}

  size_t count() const { return sequences_.size(); }
  /// Makes the cache of node `node` of the graph. If it is too large, every step fails.
  void make_cache(int node, uint32_t pages);
  // open() throws LoadError if the stream exists; call() throws it if the stream does not exist.
  void open(uint64_t stream, int node, std::string_view request);
  void call(const CallMessage& message);
  bool close(uint64_t stream) { return sequences_.erase(stream) > 0; }
  /// Runs a step. Throws LoadError for a stream that was not opened, or for too many rows.
  SteppedMessage step(int node, const StepMessage& message);

 private:
  struct Cache {
    int pages = 0;
    std::vector<KvPool> kv;
    std::string fault;
  };
  std::string copy(const Cache& cache, const std::vector<PageCopy>& copies) const;
  std::vector<const ServedSequence*> find(const StepMessage& message) const;
  std::string check(const StepMessage& message, size_t i, int node, int pages) const;

  const Pipeline& pipeline_;
  const size_t most_kv_bytes_;
  const Run run_;
  std::map<uint64_t, ServedSequence> sequences_;
  std::map<int, Cache> caches_;
};

}  // namespace syrinx
