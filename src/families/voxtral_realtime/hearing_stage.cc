#include "families/voxtral_realtime/hearing_stage.h"

#include <algorithm>

#include "kernels/activation.h"
#include "nn/layers.h"
#include "nn/stream_pass.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr int64_t kMostTokens =
    32;  // most tokens of a stream in a chunk, so that others wait little

CausalConv1d load_conv(const Weights& weights, int64_t in, int64_t out, int64_t stride,
                       WeightType type) {
  return {weights.take("weight", {out, in, 3}),
          weights.take("bias", {out}),
          {.stride = stride, .type = for_convolution(type)}};
}

}  // namespace

struct HearingStage::HearingStream : StreamState {
  std::vector<ConvState> convs;
  StreamKv kv;
  bool begun = false;
};

/// A stream after the tokens of silence, and their rows.
struct HearingStage::Silence {
  Silence(const HearingStream& stream, std::span<const float> out)
      : kv(stream.kv.clone()), rows(out.begin(), out.end()) {
    for (const ConvState& each : stream.convs) convs.push_back(each.clone());
  }
  void begin(HearingStream& stream, std::span<float> out) const {
    stream.kv = kv.clone();
    for (size_t i = 0; i < convs.size(); ++i) stream.convs[i] = convs[i].clone();
    std::ranges::copy(rows, out.begin());
  }
  std::vector<ConvState> convs;
  StreamKv kv;
  std::vector<float> rows;
};

HearingStage::HearingStage(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config), mel_(config.mel) {
  const Weights weights = root.scope("audio_tower"), ends = weights.scope("embedder");
  const int64_t width = config.encoder.hidden, wide = config.lm.hidden;
  conv1_ = load_conv(ends.scope("conv1"), config.mel.mels, width, 1, type);
  conv2_ = load_conv(ends.scope("conv2"), width, width, 2, type);
  blocks_ =
      StreamDecoder(config.encoder, weights, type, static_cast<int>(kMostTokens * config.join),
                    type == WeightType::kF32 ? DType::kF32 : DType::kF16);
  const Weights join = root.scope("multi_modal_projector");
  first_ = load_linear(join, "linear_1", wide, config.join * width, false, type);
  second_ = load_linear(join, "linear_2", wide, wide, false, type);
}

size_t HearingStage::bytes() const {
  return conv1_.bytes() + conv2_.bytes() + blocks_.bytes() + first_.bytes() + second_.bytes();
}

ChunkPolicy HearingStage::policy() const {
  const int half = config_.mel.n_fft / 2, hop = config_.mel.hop;
  return {.initial = 1, .steady = 1, .left = (half + hop) / hop, .lookahead = (half - 1) / hop};
}

std::unique_ptr<StreamState> HearingStage::open(Bundle) const {
  auto stream = std::make_unique<HearingStream>();
  stream->convs.push_back(conv1_.open());
  stream->convs.push_back(conv2_.open());
  stream->kv = blocks_.open();
  return stream;
}

int HearingStage::cut(const StreamState&, const WaitingFrames& waiting, int) const {
  const int64_t hops = std::ssize(waiting.values) / config_.mel.hop, each = config_.mels();
  if (waiting.closed && hops <= kMostTokens * each) return static_cast<int>(hops);
  const int64_t ready = std::max<int64_t>(0, hops - policy().lookahead);
  return static_cast<int>(std::min(ready / each, kMostTokens) * each);
}

/// Returns whether a stream begins with this chunk, and with enough silence for silent_tokens(),
/// whose last mel frames contain a part of the next hop.
bool HearingStage::begins_silent(const ChunkJob& job) const {
  const auto silent = static_cast<size_t>(silent_tokens() * config_.samples() + config_.mel.hop);
  if (silent_tokens() == 0 || job.left > 0 || job.values.size() < silent) return false;
  if (job.fresh < silent_tokens() * config_.mels()) return false;
  return std::ranges::all_of(job.values.first(silent), [](float sample) { return sample == 0; });
}

/// Computes the mel frames `out` [T, bands] of a chunk's new hops from hop `from` on, in host
/// memory. Zeros follow the last hop of a recording.
void HearingStage::mels(StepContext& ctx, const ChunkJob& job, int64_t from,
                        const View& out) const {
  const Arena::Mark mark(ctx.host);
  const int64_t frames = out.shape[0], first = job.left + from;
  const int64_t count = std::max(std::ssize(job.values), (first + frames) * config_.mel.hop);
  const View signal = ctx.host.take({count}, DType::kF32);
  const auto rest = std::ranges::copy(job.values, signal.f32()).out;
  std::fill(rest, signal.f32() + count, 0.f);
  const std::span<const float> all{signal.f32(), static_cast<size_t>(count)};
  const int64_t bands = config_.mel.mels;
  ctx.pool.parallel_for(frames, 4, [&](int64_t begin, int64_t end) {
    float* to = out.f32() + begin * bands;
    mel_.run(all, first + begin, first + end, to);
    whisper_compress({to, static_cast<size_t>((end - begin) * bands)}, kLoudest);
  });
}

View HearingStage::project(StepContext& ctx, const View& x) const {
  const View inner = take_rows(ctx, x.shape[0], out_width());
  const View out = take_rows(ctx, x.shape[0], out_width());
  linear(ctx, first_, x, inner);
  activate(ctx, Activation::kGelu, inner, inner);
  linear(ctx, second_, inner, out);
  return out;
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t each = config_.mels(), width = config_.encoder.hidden;
  const auto stream_of = [&](size_t job) -> HearingStream& {
    return static_cast<HearingStream&>(*jobs[job].state);
  };
  const std::shared_ptr<const Silence> silence = silence_.find(0);
  const auto tokens = take_array<int64_t>(ctx, std::ssize(jobs));  // tokens that each job makes
  const auto known = take_array<int64_t>(ctx, std::ssize(jobs));   // the first of them
  const auto rest = take_array<int64_t>(ctx, std::ssize(jobs));    // those that are computed
  const auto silent = take_array<bool>(ctx, std::ssize(jobs));
  for (size_t j = 0; j < jobs.size(); ++j) {
    tokens[j] = (jobs[j].fresh + each - 1) / each;
    silent[j] = !std::exchange(stream_of(j).begun, true) && begins_silent(jobs[j]);
    known[j] = silent[j] && silence ? silent_tokens() : 0;
    rest[j] = tokens[j] - known[j];
    if (known[j] > 0) silence->begin(stream_of(j), jobs[j].out);
  }
  const auto room = [&](size_t j) {
    HearingStream& stream = stream_of(j);
    const int64_t most = blocks_.room(ctx, stream.kv) / config_.join;
    const int64_t before = silent_tokens() - stream.kv.position() / config_.join;
    return silent[j] && !silence && before > 0 ? std::min(most, before) : most;
  };
  run_passes(ctx, rest, kMostTokens, room, [&](std::span<const PassPart> parts) {
    const Arena::Mark pass_mark(ctx.arena), pass_host(ctx.host);
    const int64_t frames = parts.back().begin + parts.back().frames;
    const View mel = ctx.host.take({frames * each, config_.mel.mels}, DType::kF32);
    const View wide = take_rows(ctx, frames * each, width);
    const View x = take_rows(ctx, frames * config_.join, width);
    const auto of_first = take_array<ConvJob>(ctx, std::ssize(parts));
    const auto of_second = take_array<ConvJob>(ctx, std::ssize(parts));
    const auto rows = take_array<StreamRows>(ctx, std::ssize(parts));
    for (const auto& [number, from, begin, count] : parts) {
      mels(ctx, jobs[number], (known[number] + from) * each,
           mel.slice(begin * each, (begin + count) * each));
    }
    const View heard = upload(ctx, mel);
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto [number, from, begin, count] = parts[i];
      HearingStream& stream = stream_of(number);
      const auto rows_of = [at = begin, end = begin + count](const View& all, int64_t rate) {
        return all.slice(at * rate, end * rate);
      };
      of_first[i] = {rows_of(heard, each), &stream.convs[0], rows_of(wide, each)};
      of_second[i] = {rows_of(wide, each), &stream.convs[1], rows_of(x, config_.join)};
      rows[i] = {&stream.kv, count * config_.join};
    }
    conv1_.run(ctx, of_first);
    activate(ctx, Activation::kGelu, wide, wide);
    conv2_.run(ctx, of_second);
    activate(ctx, Activation::kGelu, x, x);
    blocks_.forward(ctx, x, rows);
    blocks_.norm(ctx, x, x);
    const View out = project(ctx, x.reshape({frames, config_.join * width}));
    for (const auto& [number, from, begin, count] : parts) {
      const std::span<float> to = jobs[number].out;
      fetch(ctx, out.slice(begin, begin + count),
            to.subspan(static_cast<size_t>((known[number] + from) * out_width()),
                       static_cast<size_t>(count * out_width())));
      if (!silent[number] || silence || from + count != silent_tokens()) continue;
      synchronize(ctx);
      const auto kept = to.first(static_cast<size_t>((from + count) * out_width()));
      silence_.keep(0, std::make_shared<const Silence>(stream_of(number), kept), kept.size_bytes());
    }
  });
  for (size_t j = 0; j < jobs.size(); ++j) jobs[j].made = static_cast<int>(tokens[j]);
}

}  // namespace syrinx::voxtral_realtime
