#include "runtime/trace.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/executor.h"
#include "engine/scheduler.h"
#include "model/language.h"

namespace syrinx {
namespace {

/// Returns the first chunk stage whose input comes from an AR stage. That input is frames of
/// speech. Other chunk stages process recordings.
const ChunkStage* speaking_link(const Graph& graph) {
  const auto& nodes = graph.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].chunk) continue;
    const int from = graph.feeding(static_cast<int>(n)).from.node;
    if (from != kClient && nodes[static_cast<size_t>(from)].ar) return nodes[n].chunk;
  }
  throw InternalError("the graph has no chunk stage that follows an AR stage");
}

/// A platform with one executor, which runs batches at once and records their results.
class TracingPlatform : public Platform {
 public:
  TracingPlatform(const Graph& graph, const TraceOptions& options, Trace& trace)
      : ar_(graph.ar()),
        first_link_(speaking_link(graph)),
        options_(options),
        trace_(trace),
        executor_(options.threads,
                  {.greedy = !options.draws, .watch = [this](StepContext& ctx, int k, View logits) {
                     if (traced_ && trace_.steps < options_.logit_steps) keep(ctx, k, logits);
                   }}) {
    trace_.logits.resize(ar_.traits().vocab.size());
    trace_.frame_codes = first_link_->in_width();
  }

  double now() const override { return now_s(); }
  bool run(int, Batch& batch) override {
    const bool step = batch.kind() == Plan::kAr;
    traced_ = step && &batch.ar() == &ar_;
    executor_.run(batch);
    if (!batch.fault.empty()) return true;
    if (traced_ && !batch.status.empty()) {
      trace_.codes.insert(trace_.codes.end(), batch.codes.begin(), batch.codes.end());
      trace_.logit_steps += trace_.steps < options_.logit_steps ? 1 : 0;
      ++trace_.steps;
    }
    if (!step && &batch.stage() == first_link_) {
      for (const ChunkJob& job : batch.jobs()) {
        keep_fresh(job, job.codes, trace_.frames);
        keep_fresh(job, job.values, trace_.rows);
      }
    }
    return true;
  }
  /// Late text is not supported.
  void prepare(std::unique_ptr<HostJob>) override {
    throw InternalError("a trace needs the whole text at once");
  }

 private:
  /// Appends the codes or numbers of a chunk's new frames (without overlap) to `all`.
  template <typename T>
  void keep_fresh(const ChunkJob& job, std::span<const T> window, std::vector<T>& all) const {
    if (window.empty()) return;
    const auto width = static_cast<size_t>(trace_.frame_codes);
    const auto fresh = window.subspan(job.left * width, job.fresh * width);
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  void keep(StepContext& ctx, int k, const View& logits) {
    std::vector<float>& kept = trace_.logits[k];
    const auto count = static_cast<size_t>(logits.count());
    kept.resize(kept.size() + count);
    fetch(ctx, logits, std::span(kept).last(count));
    synchronize(ctx);
  }

  const ArStage& ar_;
  const ChunkStage* const first_link_;
  const TraceOptions options_;
  Trace& trace_;
  bool traced_ = false;  // whether the running batch is a step of ar_
  Executor executor_;
};

class TraceSink : public Sink {
 public:
  explicit TraceSink(std::vector<float>& samples) : samples_(samples) {}
  void audio(std::span<const float> samples) override {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  }
  void finished(const Outcome& outcome) override {
    done = true;
    reason = outcome.reason;
    error = outcome.error;
  }

  bool done = false;
  FinishReason reason = FinishReason::kStop;
  Error error;

 private:
  std::vector<float>& samples_;
};

/// Returns options with caches that suffice for one request of any length.
EngineOptions options_for(const Graph& graph, bool guided) {
  EngineOptions options;
  options.policy = "throughput";
  options.max_batch = 2;
  options.share_prefixes = false;
  options.repetition_s = 0;
  options.drafts = false;  // so that each row of logits belongs to a step
  for (const Node& node : graph.nodes()) {
    if (!node.ar) continue;
    size_t page_bytes = 0;
    for (const KvSpec& spec : node.ar->traits().kv) page_bytes += KvPool::page_bytes(spec);
    const size_t pages = KvPool::pages_for(node.ar->traits().max_positions) * (guided ? 2 : 1);
    options.kv_bytes = std::max(options.kv_bytes, pages * page_bytes);
  }
  return options;
}

}  // namespace

Result<Trace> trace_request(const Pipeline& pipeline, const SpeechRequest& asked,
                            const TraceOptions& options) {
  if (asked.say.open) {
    return Error{ErrorCode::kUnsupported, "a trace needs the whole text at once", "text"};
  }
  const Graph& graph = pipeline.graph();
  if (graph.speaker() == kClient) {
    return Error{ErrorCode::kUnsupported, "only models that speak can be traced"};
  }
  if (const Status fault = check_request(pipeline.info(), asked); !fault) return fault.error();
  SpeechRequest request = asked;
  request.say.language = read_language(pipeline.info(), asked.say.language).take();
  Trace trace;
  bool guided = false;
  {
    const Result<Opened> opened = pipeline.open(request);
    if (!opened) return opened.error();
    const Sequence& sequence = opened.value().sequence();
    guided = sequence.guidance().has_value();
    trace.prompt_rows = sequence.prompt_rows();
    const std::span<const int32_t> ids = sequence.prompt_ids();
    trace.prompt_ids.assign(ids.begin(), ids.end());
  }
  const EngineOptions engine = options_for(graph, guided);
  // Shares the caller's pipeline, which exists longer than this call.
  ResidentModel model(std::shared_ptr<const Pipeline>(std::shared_ptr<void>(), &pipeline), engine);
  const auto sink = std::make_shared<TraceSink>(trace.samples);
  Result<std::unique_ptr<Active>> active = open_active(model, request, sink, now_s());
  if (!active) return active.error();
  TracingPlatform platform(graph, options, trace);
  Scheduler scheduler(engine, {.slots = {{options.threads, true}}, .inline_run = true}, platform);
  scheduler.add(model);
  scheduler.take_in(active.take());
  while (!sink->done) {
    SYRINX_CHECK(scheduler.dispatch() || sink->done, "the request does not advance");
  }
  scheduler.end_all();
  if (sink->reason == FinishReason::kError) return sink->error;
  trace.reason = sink->reason;
  return trace;
}

}  // namespace syrinx
