#include "runtime/trace.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "kernels/guidance.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

constexpr int kPrefillRows = 128;

/// The AR stage with a cache of its own for one sequence and its guidance companion.
class Runner {
 public:
  Runner(const Pipeline& pipeline, Sequence& state, const TraceOptions& options, Trace& trace)
      : ar_(pipeline.graph().ar()),
        state_(state),
        options_(options),
        trace_(trace),
        sequences_(state.guidance() ? 2 : 1),
        pool_(options.threads),
        work_(pool_, ar_.device()) {
    max_pages_ = static_cast<int>(KvPool::pages_for(ar_.traits().max_positions));
    pages_.resize(static_cast<size_t>(sequences_) * max_pages_);
    std::iota(pages_.begin(), pages_.end(), 0);
    for (const KvSpec& spec : ar_.traits().kv) {
      kv_.emplace_back(spec, static_cast<int64_t>(pages_.size()), ar_.device());
    }
    trace_.logits.resize(ar_.traits().vocab.size());
  }

  /// One segment from its prompt to its end.
  Verdict run_segment() {
    cached_[0] = cached_[1] = 0;
    for (int t = 0; t < state_.max_steps(); ++t) {
      int due[2] = {state_.prompt_rows() + t - cached_[0], 0};
      if (sequences_ == 2) due[1] = state_.companion_rows() + t - cached_[1];
      while (std::max(due[0], due[1]) > kPrefillRows) {
        int part[2];
        for (int s = 0; s < 2; ++s) part[s] = std::clamp(due[s] - 1, 0, kPrefillRows);
        step(part, false);
        for (int s = 0; s < 2; ++s) due[s] -= part[s];
      }
      step(due, true);
      StepOutput out(trace_.frames, words_);
      const Verdict verdict = state_.advance(codes_, out);
      if (verdict.next != Verdict::kContinue) return verdict;
    }
    return {Verdict::kFinished, FinishReason::kLength};
  }

 private:
  /// Runs the next rows of each sequence; with `emits`, codes_ holds the sampled codes after it.
  void step(const int (&rows)[2], bool emits) {
    work_.reset();
    StepContext& ctx = work_.context();
    std::vector<ArSeq> seqs;
    std::vector<int32_t> row_begin = {0}, kv_len, table;
    for (int s = 0; s < sequences_; ++s) {
      if (rows[s] == 0) continue;
      seqs.push_back({&state_, cached_[s], rows[s], emits, s == 1});
      cached_[s] += rows[s];
      SYRINX_CHECK(cached_[s] <= ar_.traits().max_positions, "the cache is full");
      row_begin.push_back(row_begin.back() + rows[s]);
      kv_len.push_back(cached_[s]);
      const auto pages = pages_.begin() + static_cast<std::ptrdiff_t>(s) * max_pages_;
      table.insert(table.end(), pages, pages + max_pages_);
    }
    const Ragged ragged{row_begin, kv_len, table, max_pages_};
    const int count = emits ? sequences_ : 0;
    const auto scratch_bytes = static_cast<int64_t>(ar_.scratch_bytes(count));
    const ArBatch batch{
        seqs, row_begin.back(), count, ragged, kv_, ctx.arena.take({scratch_bytes}, DType::kU8)};
    const View hidden = ctx.arena.take({count, ar_.traits().hidden}, DType::kF32);
    ar_.forward(ctx, batch, hidden);
    if (emits) sample_codes(ctx, batch, hidden);
    synchronize(ctx);
  }

  void sample_codes(StepContext& ctx, const ArBatch& batch, View hidden) {
    const std::vector<int>& vocab = ar_.traits().vocab;
    const auto per_step = static_cast<int>(vocab.size());
    const GuidedRow merged{0, sequences_ == 2, state_.guidance().value_or(1)};
    std::vector<int32_t> both(vocab.size() * sequences_, -1);
    const View codes{both.data(), DType::kI32, {sequences_, per_step}};
    codes_.assign(vocab.size(), -1);
    const bool keep = trace_.steps < options_.logit_steps;
    for (int k = 0; k < per_step; ++k) {
      const View logits = ctx.arena.take({sequences_, vocab[k]}, DType::kF32);
      ar_.logits(ctx, k, batch, hidden, upload(ctx, codes), logits);
      merge_guidance(ctx, logits, {&merged, 1});
      if (keep) {
        std::vector<float>& kept = trace_.logits[k];
        kept.resize(kept.size() + vocab[k]);
        fetch(ctx, logits.slice(0, 1), std::span(kept).last(vocab[k]));
        synchronize(ctx);
      }
      codes_[k] = greedy(ctx, k, logits.slice(0, 1));
      for (int s = 0; s < sequences_; ++s) both[s * per_step + k] = codes_[k];
    }
    trace_.codes.insert(trace_.codes.end(), codes_.begin(), codes_.end());
    trace_.logit_steps += keep ? 1 : 0;
    ++trace_.steps;
  }

  int32_t greedy(StepContext& ctx, int k, View logits) {
    SampleRow row{
        .params = state_.sampling(k), .rule = state_.rule(k), .history = state_.history(k)};
    row.params.temperature = 0;
    int32_t id = -1;
    SampleStatus status = SampleStatus::kOk;
    sample(ctx, logits, {&row, 1}, {&id, 1}, {&status, 1});
    SYRINX_CHECK(status == SampleStatus::kOk, "step ", trace_.steps, ", code ", k, ": ",
                 sample_status_text(status));
    return id;
  }

  const ArStage& ar_;
  Sequence& state_;
  const TraceOptions& options_;
  Trace& trace_;
  const int sequences_;
  ThreadPool pool_;
  Workspace work_;
  std::vector<KvPool> kv_;
  int max_pages_ = 0;
  std::vector<int32_t> pages_;  // of each sequence
  int cached_[2] = {0, 0};
  std::vector<int32_t> codes_;
  std::vector<WordMark> words_;
};

/// All frames through the chain of chunk stages, as one chunk each.
std::vector<float> run_chunks(const Pipeline& pipeline, const Sequence& state,
                              std::span<const int32_t> frames, int threads) {
  ThreadPool pool(threads);
  std::vector<float> values;
  int64_t count = 0;
  for (const Link& link : pipeline.graph().links()) {
    if (values.empty()) count = static_cast<int64_t>(frames.size()) / link.stage->in_width();
    std::vector<float> out(static_cast<size_t>(count * link.stage->out_width()));
    const std::unique_ptr<StreamState> stream = link.stage->open(state);
    ChunkJob job;
    job.state = stream.get();
    if (values.empty()) {
      job.codes = frames;
    } else {
      job.values = values;
    }
    job.fresh = static_cast<int>(count);
    job.last = true;
    job.out = out;
    Workspace work(pool, link.stage->device());
    link.stage->run(work.context(), {&job, 1});
    synchronize(work.context());
    values = std::move(out);
  }
  return values;
}

}  // namespace

Result<Trace> trace_request(const Pipeline& pipeline, const SpeechRequest& request,
                            const TraceOptions& options) {
  if (const Status fault = check_request(pipeline.info(), request); !fault) return fault.error();
  Result<Opened> opened = pipeline.open(request);
  if (!opened) return opened.error();
  Sequence& state = opened.value().sequence();
  Trace trace;
  trace.frame_codes = pipeline.graph().links().front().stage->in_width();
  trace.prompt_rows = state.prompt_rows();
  const std::span<const int32_t> ids = state.prompt_ids();
  trace.prompt_ids.assign(ids.begin(), ids.end());
  Runner runner(pipeline, state, options, trace);
  Verdict verdict;
  do {
    verdict = runner.run_segment();
  } while (verdict.next == Verdict::kNextSegment);
  trace.reason = verdict.reason;
  if (!trace.frames.empty()) {
    trace.samples = run_chunks(pipeline, state, trace.frames, options.threads);
  }
  return trace;
}

}  // namespace syrinx
