// For tests of recognisers: golden checkpoints, their recordings, and loops over the encoder's
// streams and the writer's steps, in batches as the engine makes them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/wav_file.h"
#include "families/live/live_recogniser.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx::live {

/// Returns a path in the goldens of a family, whose parity tests are in `folder`.
inline std::string golden_path(const std::string& folder, const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/" + folder + "/golden/" + name;
}

inline nlohmann::json golden_of(const std::string& folder, const std::string& checkpoint) {
  return nlohmann::json::parse(read_file(golden_path(folder, checkpoint + "/cases.json"), 1 << 20));
}

inline nlohmann::json cases_of(const std::string& folder, const std::string& checkpoint) {
  return golden_of(folder, checkpoint)["cases"];
}

/// Returns the samples of a golden case, which repeats a recording.
inline std::vector<float> samples_of(const nlohmann::json& c) {
  const std::vector<float> all = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples;
  std::vector<float> out;
  for (size_t i = 0; i < c["count"].get<size_t>(); ++i)
    out.push_back(all[(c["skip"].get<size_t>() + i) % all.size()]);
  return out;
}

/// Returns a request that transcribes the samples of a stream. `delay`: Hearing::delay; negative:
/// the model's own.
inline SpeechRequest listening(const Pipeline& model, int delay = -1) {
  const auto none = std::make_shared<Recording>(Recording{{}, model.info().hearing.rate});
  const bool streams = model.info().hearing.frame > 0;
  SpeechRequest request = (streams ? model.listening({}) : model.dictation({none})).take();
  if (delay >= 0) dynamic_cast<Hearing&>(*request.task).delay = delay;
  return request;
}

/// One stream of the encoder, which gets the same chunks as from the engine.
struct Stream {
  Stream(const Pipeline& model, int delay = -1) : Stream(model, listening(model, delay)) {}
  Stream(const Pipeline& model, const SpeechRequest& request) {
    Opened opened = model.open(request).take();
    encoder.values = opened.samples;
    encoder.closed = false;
    sequence = opened.only();
    encoder.state = open_stream(*model.graph().node(0).chunk, *sequence);
  }

  /// Appends samples; `last`: and ends the stream, with the last frame filled up.
  void hear(std::span<const float> more, int frame, bool last, int64_t tail = 0) {
    std::vector<float>& samples = encoder.values;
    samples.insert(samples.end(), more.begin(), more.end());
    encoder.closed = last;
    if (!last) return;
    const auto each = static_cast<size_t>(frame);
    samples.resize((samples.size() + each - 1) / each * each + static_cast<size_t>(tail));
  }

  /// Runs all streams in one batch until the stage needs more samples.
  static void run(const Pipeline& model, std::span<Stream* const> streams) {
    fixture::Bench bench(2);
    std::vector<StageStream*> all;
    for (Stream* each : streams) all.push_back(&each->encoder);
    run_streams(bench.ctx, *model.graph().node(0).chunk, model.graph().edges()[0].policy, all);
  }

  std::unique_ptr<Sequence> sequence;
  StageStream encoder;
};

/// Returns the rows of streams that run in one batch; stream i gets `each[i]` samples at a time.
/// `tail`: samples of silence after each stream; `delay`: as in listening().
inline std::vector<std::vector<float>> rows_of(const Pipeline& model,
                                               const std::vector<std::vector<float>>& samples,
                                               const std::vector<size_t>& each,
                                               const std::vector<int>& delay, int64_t tail = 0) {
  const int frame = model.graph().nodes()[0].chunk->in_width();
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Stream*> all;
  for (size_t i = 0; i < samples.size(); ++i) {
    streams.push_back(std::make_unique<Stream>(model, delay[i]));
    all.push_back(streams.back().get());
  }
  std::vector<size_t> at(samples.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (all[i]->encoder.closed) continue;
      const size_t count = std::min(each[i], samples[i].size() - at[i]);
      const bool last = at[i] + count == samples[i].size();
      all[i]->hear(std::span(samples[i]).subspan(at[i], count), frame, last, tail);
      at[i] += count;
      more = more || !last;
    }
    Stream::run(model, all);
  }
  std::vector<std::vector<float>> out;
  for (const Stream* stream : all) out.push_back(stream->encoder.out);
  return out;
}

/// Steps of several recordings in one batch of the writer.
struct Steps {
  struct Said {
    std::vector<int32_t> ids;  // the first code of each step
    std::string text;
    std::vector<ScoredToken> tokens;
    std::vector<float> logits, values;  // logits for the first code; the stage's values
    bool over = false;
  };
  explicit Steps(const Pipeline& of) : model(&of) {}

  /// Adds a recording with all its rows.
  void add(std::span<const float> rows, const SpeechRequest& request) {
    sequences.push_back(model->open(request).take().only());
    const FrameType type = model->graph().nodes()[0].chunk->out();
    const Frames frames{
        .type = type, .count = std::ssize(rows) / type.width, .floats = rows, .last = true};
    ASSERT_TRUE(sequences.back()->take(0, frames).ok());
    said.emplace_back();
  }
  void add(std::span<const float> rows, int delay = -1) { add(rows, listening(*model, delay)); }

  /// Takes a step of the sequences `which`. Returns whether one of them had a step left.
  bool step(std::span<const size_t> which) {
    const ArStage& stage = model->graph().ar();
    std::vector<ArSeq> seqs;
    std::vector<Said*> owners;
    for (const size_t i : which) {
      if (said[i].over) continue;
      seqs.push_back({sequences[i].get(), 0, 1, 1});
      owners.push_back(&said[i]);
    }
    if (seqs.empty()) return false;
    fixture::Bench bench(2);
    const int e = static_cast<int>(seqs.size());
    const ArBatch batch{.seqs = seqs, .rows = e, .emits = e, .ragged = {}, .kv = {}, .scratch = {}};
    const View hidden = bench.arena.take({e, stage.traits().hidden}, DType::kF32);
    stage.forward(bench.ctx, batch, hidden);
    std::vector<std::vector<int32_t>> drawn(seqs.size());
    for (size_t k = 0; k < stage.traits().vocab.size(); ++k) {
      const int vocab = stage.traits().vocab[k];
      const View out = bench.arena.take({e, vocab}, DType::kF32);
      stage.logits(bench.ctx, static_cast<int>(k), batch, hidden, {}, out);
      for (int i = 0; i < e; ++i) {
        const float* row = out.f32() + i * vocab;
        if (k == 0) owners[i]->logits.insert(owners[i]->logits.end(), row, row + vocab);
        drawn[i].push_back(static_cast<int32_t>(std::max_element(row, row + vocab) - row));
      }
    }
    const int values = stage.traits().values;
    const View made = bench.arena.take({e, std::max(1, values)}, DType::kF32);
    if (values > 0) stage.values(bench.ctx, batch, hidden, {}, made);
    for (int i = 0; i < e; ++i) {
      std::vector<int32_t> codes;
      std::vector<WordMark> words;
      const std::span<const float> own(made.f32() + i * values, size_t(values));
      StepOutput output(codes, words, nullptr, nullptr, own);
      const Verdict verdict = seqs[i].state->advance(drawn[i], output);
      owners[i]->values.insert(owners[i]->values.end(), own.begin(), own.end());
      owners[i]->ids.push_back(drawn[i][0]);
      owners[i]->text += output.written();
      owners[i]->tokens.insert(owners[i]->tokens.end(), output.tokens().begin(),
                               output.tokens().end());
      owners[i]->over = verdict.next == Verdict::kFinished;
    }
    return true;
  }
  /// Steps the sequences `which` until they have ended.
  void run(std::span<const size_t> which) {
    while (step(which)) {
    }
  }

  const Pipeline* model;
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Said> said;
};

}  // namespace syrinx::live
