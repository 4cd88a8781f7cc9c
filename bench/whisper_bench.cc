// Measures Whisper at its published sizes with random weights, in ms of processor time of one
// thread.
//   whisper_bench --benchmark_filter='tiny/bf16'
// encoder: a window of 30 s, all its pieces, each at its best; memory: the keys and values of
// cross-attention for it, and the first step; step: an id of each of B windows, ~60 ids in.
#include <time.h>

#include <limits>
#include <string>

#include "bench.h"
#include "families/whisper/decoder.h"
#include "families/whisper/dictation.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx {
namespace {

constexpr double kNever = std::numeric_limits<double>::max();

template <typename F>
void keep_best_ms(double& best, F f) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
  };
  const double began = now();
  f();
  best = std::min(best, now() - began);
}

struct Size {
  const char* name;
  int64_t mels, width, layers, heads, decoder_layers;
};
constexpr Size kSizes[] = {{"tiny", 80, 384, 4, 6, 4},
                           {"base", 80, 512, 6, 8, 6},
                           {"small", 80, 768, 12, 12, 12},
                           {"large-v3-turbo", 128, 1280, 32, 20, 4}};

whisper::ModelConfig published(const Size& size) {
  whisper::ModelConfig c;
  c.encoder = {size.mels, size.width, size.layers, size.heads, 4 * size.width};
  c.layers = size.decoder_layers, c.heads = size.heads, c.ffn = 4 * size.width;
  c.vocab = 51866;
  return c;
}

whisper::Generation published_ids() {
  whisper::Generation g;
  g.languages = {{"en", 50259}};
  g.transcribe = 50359, g.translate = 50358;
  return g;
}

void encoder(benchmark::State& state, const Size& size, WeightType type) {
  bench::Machine machine(1);
  const WhisperEncoder net(published(size).encoder, Weights(dummy_weights()), type);
  WhisperRecording recording(static_cast<int>(size.mels));
  const Tensor noise = bench::filled({30 * WhisperWindow::kSampleRate}, 1);
  recording.push({noise.f32(), static_cast<size_t>(noise.view().count())}, true);
  const WhisperWindow window = recording.window(0);
  std::vector<double> best(static_cast<size_t>(net.pieces()), kNever);
  for (auto _ : state) {
    WhisperEncoder::Work work = net.open(window);
    for (double& piece : best) {
      machine.arena.reset();
      keep_best_ms(piece, [&] { net.run(machine.ctx, work, window.samples); });
    }
  }
  double sum = 0;
  for (const double piece : best) sum += piece;
  state.counters["mel_ms"] = best[0];
  state.counters["block_ms"] = best[2];
  state.counters["window_ms"] = sum;
  state.counters["weights_MB"] = static_cast<double>(net.bytes()) / 1e6;
}

/// B encoded windows.
class Windows {
 public:
  Windows(const whisper::WhisperDecoder& net, const whisper::ModelConfig& config, int count)
      : net_(net),
        generation_(published_ids()),
        tokenizer_(byte_tokenizer({})),
        kv_(net.traits().kv[0], int64_t{count} * kPages),
        table_(static_cast<size_t>(count) * kPages) {
    const Tensor rows = bench::filled({WhisperEncoder::kRows, config.width()}, 3);
    const Frames frames{{Flow::kRows, config.width()},
                        WhisperEncoder::kRows,
                        {},
                        {rows.f32(), static_cast<size_t>(rows.view().count())},
                        {},
                        true};
    for (int i = 0; i < count; ++i) {
      auto window = std::make_shared<whisper::Window>();
      window->language = "en";
      dictations_.push_back(std::make_unique<whisper::Dictation>(config, generation_, tokenizer_,
                                                                 std::move(window), 0));
      (void)dictations_.back()->take(0, frames);
    }
    for (size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<int32_t>(i);
  }

  /// Runs at most `most` due rows; then samples an id of each window.
  void step(StepContext& ctx, int most, double& best) {
    const int count = static_cast<int>(dictations_.size());
    const int due = dictations_[0]->prompt_rows() + steps_ - cached_;
    const int rows = std::min(due, most);
    std::vector<ArSeq> seqs;
    std::vector<int32_t> begin{0}, length;
    for (const auto& dictation : dictations_) {
      seqs.push_back({dictation.get(), cached_, rows, rows == due});
      begin.push_back(begin.back() + rows);
      length.push_back(cached_ + rows);
    }
    cached_ += rows;
    const int emits = rows == due ? count : 0;
    const ArBatch batch{
        seqs, begin.back(), emits, {begin, length, table_, kPages}, std::span(&kv_, 1), {}};
    const View hidden = ctx.arena.take({count, net_.traits().hidden}, DType::kF32);
    const View out = ctx.arena.take({count, net_.traits().vocab[0]}, DType::kF32);
    keep_best_ms(best, [&] {
      net_.forward(ctx, batch, hidden);
      if (emits > 0) net_.logits(ctx, 0, batch, hidden, {}, out);
    });
    if (emits == 0) return;
    ++steps_;
    const int32_t id = 400;
    for (const auto& dictation : dictations_) {
      std::vector<int32_t> frames;
      std::vector<WordMark> words;
      StepOutput output(frames, words);
      dictation->advance(std::span(&id, 1), output);
    }
  }
  bool in_memory() const { return cached_ < WhisperEncoder::kRows; }

 private:
  static constexpr int kPages = 64;
  const whisper::WhisperDecoder& net_;
  const whisper::Generation generation_;
  const Tokenizer tokenizer_;
  KvPool kv_;
  std::vector<int32_t> table_;
  std::vector<std::unique_ptr<whisper::Dictation>> dictations_;
  int cached_ = 0, steps_ = 0;
};

void decoder(benchmark::State& state, const Size& size, WeightType type) {
  bench::Machine machine(1);
  const whisper::ModelConfig config = published(size);
  const whisper::WhisperDecoder net(config, {}, Weights(dummy_weights()), type);
  const auto count = static_cast<int>(state.range(0));
  Windows windows(net, config, count);
  double memory = 0;
  while (windows.in_memory()) {
    double piece = kNever;
    machine.arena.reset();
    windows.step(machine.ctx, 128, piece);
    memory += piece;
  }
  double best = kNever;
  for (auto _ : state) {
    machine.arena.reset();
    windows.step(machine.ctx, 128, best);
  }
  state.counters["memory_ms"] = memory / count;
  state.counters["step_ms"] = best;
  state.counters["ids_a_cpu_s"] = 1e3 * count / best;
  state.counters["weights_MB"] = static_cast<double>(net.bytes() + net.head_bytes()) / 1e6;
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  using syrinx::WeightType;
  for (const syrinx::Size& size : syrinx::kSizes) {
    for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
      const std::string name = std::string(size.name) + "/" + syrinx::weight_type_name(type);
      benchmark::RegisterBenchmark(("encoder/" + name).c_str(), syrinx::encoder, size, type)
          ->Iterations(size.layers > 12 ? 2 : 4);
      benchmark::RegisterBenchmark(("step/" + name).c_str(), syrinx::decoder, size, type)
          ->Arg(1)
          ->Arg(8)
          ->Iterations(60);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
