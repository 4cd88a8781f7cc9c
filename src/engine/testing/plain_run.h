// For tests: computes the output of a request on a chain without the engine. Runs the rows of one
// sequence as they become due, then each chunk stage once, on all of its frames. Uses no scheduler,
// no executor and no shared page. The engine's output must equal this output bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

struct PlainRun {
  std::vector<int32_t> frames;  ///< frames that the AR node made
  std::vector<float> samples;
  FinishReason reason = FinishReason::kStop;
};

namespace plain_run {

/// Takes steps until the sequence ends. The cache has `pages` for the sequence and its companion.
inline void steps(const ArStage& ar, Sequence& sequence, uint64_t seed, PlainRun& out) {
  constexpr int kPages = 32;
  const ArTraits& traits = ar.traits();
  const int per_step = static_cast<int>(traits.vocab.size());
  const int tracks = sequence.guidance().value_or(1) != 1 ? 2 : 1;
  ThreadPool pool(1);
  Workspace work(pool, Device::kCpu);
  const KvPool kv(traits.kv[0], 2 * kPages);
  std::vector<int32_t> table(static_cast<size_t>(tracks) * kPages);
  std::iota(table.begin(), table.end(), 0);
  int cached[2] = {}, of_segment = 0;
  for (uint32_t step = 0;; ++step) {
    std::vector<ArSeq> seqs;
    std::vector<int32_t> row_begin{0}, kv_len;
    for (int t = 0; t < tracks; ++t) {
      const int prompt = t == 1 ? sequence.companion_rows() : sequence.prompt_rows();
      const int rows = prompt + of_segment - cached[t];
      seqs.push_back({&sequence, cached[t], rows, true, t == 1});
      cached[t] += rows;
      row_begin.push_back(row_begin.back() + rows);
      kv_len.push_back(cached[t]);
    }
    work.reset();
    StepContext& ctx = work.context();
    const ArBatch batch{
        seqs,
        row_begin.back(),
        tracks,
        {row_begin, kv_len, table, kPages},
        std::span(&kv, 1),
        ctx.arena.take({static_cast<int64_t>(ar.scratch_bytes(tracks))}, DType::kU8)};
    const View hidden = ctx.arena.take({tracks, traits.hidden}, DType::kF32);
    ar.forward(ctx, batch, hidden);
    std::vector<int32_t> codes(static_cast<size_t>(tracks) * per_step, 0);
    const View codes_view{codes.data(), DType::kI32, {tracks, per_step}};
    for (int k = 0; k < per_step; ++k) {
      const int vocab = traits.vocab[k];
      const View logits = ctx.arena.take({tracks, vocab}, DType::kF32);
      ar.logits(ctx, k, batch, hidden, codes_view, logits);
      const float scale = sequence.step_guidance(k);
      for (int v = 0; tracks == 2 && v < vocab; ++v) {
        const float with = logits.f32()[v], without = logits.f32()[vocab + v];
        logits.f32()[v] = without + scale * (with - without);
      }
      const SampleRow row{
          sequence.sampling(k),    sequence.rule(k), sequence.history(k), seed, step,
          static_cast<uint32_t>(k)};
      int32_t id = -1;
      SampleStatus status;
      sample(ctx, logits.slice(0, 1), {&row, 1}, {&id, 1}, {&status, 1});
      ASSERT_EQ(status, SampleStatus::kOk);
      for (int t = 0; t < tracks; ++t) codes[static_cast<size_t>(t) * per_step + k] = id;
    }
    std::vector<WordMark> words;
    StepOutput given(out.frames, words);
    const Verdict verdict = sequence.advance(std::span(codes).first(per_step), given);
    ++of_segment;
    out.reason = verdict.reason;
    if (verdict.next == Verdict::kFinished) return;
    if (verdict.next == Verdict::kNextSegment) {
      cached[0] = cached[1] = of_segment = 0;
    } else if (of_segment == sequence.max_steps()) {
      out.reason = FinishReason::kLength;
      return;
    }
  }
}

}  // namespace plain_run

/// Runs `request`, whose text must be complete and must not make a call fail.
inline PlainRun run_plainly(const Pipeline& model, const SpeechRequest& request) {
  PlainRun out;
  auto opened = model.open(request);
  EXPECT_TRUE(opened.ok());
  Sequence& sequence = opened.value().sequence();
  const std::vector<Link> links = model.graph().links();
  std::vector<std::unique_ptr<StreamState>> streams;
  for (const Link& link : links) streams.push_back(open_stream(*link.stage, sequence));
  plain_run::steps(model.graph().ar(), sequence, request.sampling.seed, out);
  ThreadPool pool(1);
  Workspace work(pool, Device::kCpu);
  for (size_t i = 0; i < links.size(); ++i) {
    const ChunkStage& stage = *links[i].stage;
    const std::vector<float> values = std::move(out.samples);
    const int frames = static_cast<int>(i == 0 ? out.frames.size() / stage.in_width()
                                               : values.size() / stage.in_width());
    out.samples.assign(static_cast<size_t>(frames) * stage.most_out() * stage.out_width(), 0);
    ChunkJob job{streams[i].get(),         {}, values, 0, frames, 0, true, out.samples,
                 frames * stage.most_out()};
    if (i == 0) job.codes = out.frames, job.values = {};
    if (frames > 0) stage.run(work.context(), {&job, 1});
    out.samples.resize(static_cast<size_t>(job.made) * stage.out_width());
  }
  return out;
}

}  // namespace syrinx
