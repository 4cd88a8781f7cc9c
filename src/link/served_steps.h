// What a process that holds an AR node has for one server: sequences made of the server's requests,
// and the node's cache. What the server says is checked against what the sequences say of
// themselves; wrong rows, pages or guesses are a fault of their sequence. One thread.
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

/// A sequence of a server's request.
class ServedSequence {
 public:
  /// Opens AR node `node` of the graph. A request that cannot be opened is a fault() of it.
  ServedSequence(const Pipeline& pipeline, int node, std::string_view request);

  int node() const { return node_; }
  /// Applies a call of link/calls.h. Throws LoadError for an invalid one; what the sequence itself
  /// does not like is a fault() of it.
  void call(std::string_view call);
  /// Why it does not go on; empty: it does.
  const std::string& fault() const { return fault_; }
  void set_fault(std::string why) { fault_ = std::move(why); }
  /// Why these rows cannot be run; empty: they can. `pages` of the cache there are.
  std::string check(const PushedSequence& rows, int pages) const;
  Sequence& sequence() const { return *sequence_; }

 private:
  std::string check_main(const PushedSequence& rows) const;

  const int node_;
  const ArStage& ar_;
  const std::vector<FrameType>& in_;
  std::unique_ptr<Sequence> sequence_;
  int steps_ = 0;  // of the segment
  bool over_ = false;
  std::string fault_;
};

/// The AR nodes of one server.
class ServedSteps {
 public:
  /// Runs a stage with a cache: its exceptions pass through.
  using Run = std::function<void(const ArStage&, const Step&, StepResults&)>;
  ServedSteps(const Pipeline& pipeline, size_t most_kv_bytes, Run run)
      : pipeline_(pipeline), most_kv_bytes_(most_kv_bytes), run_(std::move(run)) {}

  size_t count() const { return sequences_.size(); }
  /// `node` of the graph. A cache that is too large is a fault of every step.
  void make_cache(int node, uint32_t pages);
  // Throw LoadError for a stream that is there already, or is not.
  void open(uint64_t stream, int node, std::string_view request);
  void call(const CallMessage& message);
  bool close(uint64_t stream) { return sequences_.erase(stream) > 0; }
  /// Throws LoadError for a stream that was not opened.
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
