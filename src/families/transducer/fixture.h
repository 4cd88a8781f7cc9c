// For tests: the golden checkpoints, their recordings, and a loop over one stream.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/wav_file.h"
#include "families/transducer/pipeline.h"
#include "families/transducer/transcription.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx::transducer {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/transducer/golden/" + name;
}

inline nlohmann::json cases_of(const std::string& checkpoint) {
  return nlohmann::json::parse(
      read_file(golden_path(checkpoint + "/cases.json"), 1 << 20))["cases"];
}

/// Returns the samples of a golden case, which repeats a recording.
inline std::vector<float> samples_of(const nlohmann::json& c) {
  const std::vector<float> all = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples;
  std::vector<float> out;
  for (size_t i = 0; i < c["count"].get<size_t>(); ++i) {
    out.push_back(all[(c["skip"].get<size_t>() + i) % all.size()]);
  }
  return out;
}

inline int lookahead_of(const nlohmann::json& run) {
  return run["lookahead"].is_null() ? 0 : run["lookahead"].get<int>();
}

/// One stream of the encoder, with the chunks that the engine would give it.
struct Stream {
  Stream(const HearingStage& stage, int lookahead) {
    Bundle bundle;
    bundle.set("chunk", static_cast<uint64_t>(lookahead) + 1);
    state = stage.open(std::move(bundle));
  }
  std::unique_ptr<StreamState> state;
  std::vector<float> samples;  // samples received so far
  int64_t taken = 0;           // number of hops taken so far
  bool closed = false;
  std::vector<float> rows;

  /// Runs all streams in one batch until the stage needs more samples.
  static void run(const HearingStage& stage, std::span<Stream* const> streams) {
    const int hop = stage.in_width();
    const ChunkPolicy policy = stage.policy();
    fixture::Bench bench(2);
    for (bool any = true; any;) {
      any = false;
      std::vector<ChunkJob> jobs;
      std::vector<Stream*> owners;
      std::vector<std::vector<float>> outs(streams.size());
      for (Stream* s : streams) {
        const int64_t all = std::ssize(s->samples) / hop, waiting = all - s->taken;
        WaitingFrames frames;
        frames.values = std::span(s->samples).subspan(static_cast<size_t>(s->taken * hop));
        frames.closed = s->closed;
        const int fresh = waiting > 0 ? stage.cut(*s->state, frames, 1) : 0;
        if (fresh == 0) continue;
        ChunkJob job;
        job.state = s->state.get();
        job.left = static_cast<int>(std::min<int64_t>(s->taken, policy.left));
        job.fresh = fresh;
        job.ahead = static_cast<int>(std::min<int64_t>(waiting - fresh, policy.lookahead));
        job.last = s->closed && fresh + job.ahead == waiting;
        job.values = std::span(s->samples)
                         .subspan(static_cast<size_t>((s->taken - job.left) * hop),
                                  static_cast<size_t>((job.left + fresh + job.ahead) * hop));
        std::vector<float>& out = outs[jobs.size()];
        out.resize(static_cast<size_t>(fresh * stage.out_width()));
        job.out = out;
        s->taken += fresh;
        jobs.push_back(job);
        owners.push_back(s);
      }
      if (jobs.empty()) break;
      any = true;
      stage.run(bench.ctx, jobs);
      for (size_t j = 0; j < jobs.size(); ++j) {
        const auto made = jobs[j].out.first(static_cast<size_t>(jobs[j].made * stage.out_width()));
        owners[j]->rows.insert(owners[j]->rows.end(), made.begin(), made.end());
      }
      bench.arena.reset();
    }
  }
};

}  // namespace syrinx::transducer
