// Compares Kokoro's networks with the authors' code on two small checkpoints (tests/parity/kokoro).
// Durations are equal; pitch, spectra and samples agree within bounds. Each utterance runs alone
// and in a batch.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "families/kokoro/prosody.h"
#include "families/kokoro/speech_stage.h"
#include "families/kokoro/voder.h"
#include "families/kokoro/weights.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "io/torch_pickle.h"
#include "kernels/fixture.h"

namespace syrinx::kokoro {
namespace {

struct GoldenCase {
  std::string name, phonemes;
  uint64_t seed = 0;
  float speed = 1;
};

float worst_apart(std::span<const float> got, const View& want) {
  if (std::ssize(got) != want.count()) return std::numeric_limits<float>::infinity();
  float worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
  return worst;
}

float rms_apart(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return static_cast<float>(std::sqrt(sum / static_cast<double>(a.size())));
}

struct SmallKokoro {
  explicit SmallKokoro(const std::string& shape, WeightType type = WeightType::kF32)
      : dir(parity_dir() + "kokoro/golden/" + shape),
        golden(dir + "/golden.safetensors"),
        config(load_config(Config::load(dir + "/checkpoint/config.json"))),
        voice(dir + "/checkpoint/voices/af_owl.pt") {
    const Weights weights(open_kokoro_weights(dir + "/checkpoint"));
    weights.build([&] {
      prosody = Prosody(config, weights, type);
      voder = Voder(config, weights, type);
    });
    for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
      cases.push_back({json["name"], json["phonemes"], json["seed"], json["speed"]});
    }
  }

  View at(const std::string& name) const { return golden.view(name); }
  std::span<const int32_t> ids(const GoldenCase& c) const {
    const View view = at(c.name + ".ids");
    return {view.i32(), static_cast<size_t>(view.count())};
  }
  /// Returns the voice's row for case `c`, which depends on the number of phonemes.
  std::span<const float> style(const GoldenCase& c) const {
    const View pack = voice.view(voice.tensors().front());
    const auto width = static_cast<size_t>(2 * config.style);
    return {pack.f32() + (ids(c).size() - 3) * width, width};
  }
  std::vector<ProsodyJob> jobs() const {
    std::vector<ProsodyJob> jobs;
    for (const GoldenCase& c : cases) {
      jobs.push_back({ids(c), style(c).subspan(static_cast<size_t>(config.style)), c.speed});
    }
    return jobs;
  }
  std::vector<float> speak(const GoldenCase& c, const ProsodyJob& job, VoderTrace* trace = nullptr,
                           std::span<const float> pitch = {}) {
    int64_t frames = 0;
    for (const int32_t count : job.frames) frames += count;
    std::vector<float> samples(static_cast<size_t>(frames * config.hop()));
    voder.run(
        *speaking, {job.features, job.frames, style(c), pitch},
        [&](int64_t frame, std::span<float> out) {
          philox_normal(c.seed, static_cast<uint32_t>(frame), kSourceNoise, out);
        },
        samples, trace);
    return samples;
  }

  std::string dir;
  Safetensors golden;
  KokoroConfig config;
  TorchPickle voice;
  Prosody prosody;
  Voder voder;
  std::vector<GoldenCase> cases;
  ThreadPool pool{2};
  Arena arena;
  StepContext ctx{pool, arena};
  StepContext* speaking = &ctx;
};

class KokoroParity : public testing::TestWithParam<const char*> {};

TEST_P(KokoroParity, DurationsPitchSpectraAndSamples) {
  SmallKokoro f(GetParam());
  std::vector<ProsodyJob> jobs = f.jobs();
  f.prosody.run(f.ctx, jobs);
  for (size_t i = 0; i < f.cases.size(); ++i) {
    const GoldenCase& c = f.cases[i];
    const View frames = f.at(c.name + ".frames");
    ASSERT_EQ(jobs[i].frames, std::vector<int32_t>(frames.i32(), frames.i32() + frames.count()));
    EXPECT_LT(worst_apart(jobs[i].durations, f.at(c.name + ".durations")), 1e-4f) << c.name;
    VoderTrace trace;
    const View pitch = f.at(c.name + ".pitch");
    const std::vector<float> whole = f.speak(c, jobs[i], &trace);
    EXPECT_LT(worst_apart(trace.pitch, pitch), 2e-2f) << c.name;  // in Hz
    // A phase near pi may come out as pi or -pi, which changes the samples for a few milliseconds.
    // So samples and spectrum are computed from the golden's pitch.
    const std::vector<float> samples =
        f.speak(c, jobs[i], &trace, {pitch.f32(), static_cast<size_t>(pitch.count())});
    EXPECT_LT(rms_apart(whole, samples), 0.05f) << c.name;
    EXPECT_LT(worst_apart(trace.energy, f.at(c.name + ".energy")), 1e-4f) << c.name;
    const GoldenSamples source(f.golden, c.name + ".samples_source");
    EXPECT_LT(source.distance(trace.source), 1e-6f) << c.name;
    const View spectrum = f.at(c.name + ".spectrum");  // has every 37th row
    std::vector<float> rows;
    const int64_t width = spectrum.shape[1];
    for (int64_t r = 0; r * width < std::ssize(trace.spectrum); r += 37) {
      rows.insert(rows.end(), trace.spectrum.begin() + r * width,
                  trace.spectrum.begin() + (r + 1) * width);
    }
    EXPECT_LT(worst_apart(rows, spectrum), 2e-4f) << c.name;
    const GoldenSamples want(f.golden, c.name + ".samples");
    EXPECT_LT(want.distance(samples), 1e-4f) << c.name;
    RecordProperty(c.name + "_samples", std::to_string(want.distance(samples) * 1e6) + "e-6");
  }
}

class KokoroSpeaks : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, KokoroSpeaks, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(KokoroSpeaks, AsTheOriginal) {
  fixture::Bench bench(2, GetParam());
  SmallKokoro f("plain");
  std::vector<ProsodyJob> jobs = f.jobs();
  f.prosody.run(f.ctx, jobs);
  f.speaking = &bench.ctx;
  if (GetParam() != Device::kCpu) f.voder.move_to(GetParam());
  for (size_t i = 0; i < f.cases.size(); ++i) {
    if (f.cases[i].name == "long") continue;  // takes the emulation minutes
    const View pitch = f.at(f.cases[i].name + ".pitch");
    const std::vector<float> samples =
        f.speak(f.cases[i], jobs[i], nullptr, {pitch.f32(), static_cast<size_t>(pitch.count())});
    const GoldenSamples want(f.golden, f.cases[i].name + ".samples");
    EXPECT_LT(want.distance(samples), 1e-4f) << f.cases[i].name;
    RecordProperty(f.cases[i].name, std::to_string(want.distance(samples) * 1e6) + "e-6");
  }
}

TEST_P(KokoroParity, AnUtteranceHasItsBitsAloneAndBesideOthers) {
  SmallKokoro f(GetParam());
  std::vector<ProsodyJob> together = f.jobs();
  f.prosody.run(f.ctx, together);
  for (size_t i = 0; i < together.size(); ++i) {
    std::vector<ProsodyJob> alone{f.jobs()[i]};
    f.prosody.run(f.ctx, alone);
    EXPECT_EQ(alone[0].features, together[i].features);
    EXPECT_EQ(alone[0].durations, together[i].durations);
    f.arena.reset();
    ThreadPool one(1);
    Arena arena;
    const std::vector<float> got = f.speak(f.cases[i], alone[0]);
    StepContext ctx(one, arena);
    std::vector<float> again(got.size());
    f.voder.run(
        ctx, {alone[0].features, alone[0].frames, f.style(f.cases[i])},
        [&](int64_t frame, std::span<float> out) {
          philox_normal(f.cases[i].seed, static_cast<uint32_t>(frame), kSourceNoise, out);
        },
        again);
    EXPECT_EQ(got, again) << "other threads, other bits";
  }
}

TEST_P(KokoroParity, ARiseBendsThePitchOfTheEnd) {
  SmallKokoro f(GetParam());
  std::vector<ProsodyJob> jobs = f.jobs();
  f.prosody.run(f.ctx, jobs);
  int64_t frames = 0;
  for (const int32_t count : jobs[0].frames) frames += count;
  std::vector<float> pitch(static_cast<size_t>(2 * frames), 100.f);
  std::vector<float> samples(static_cast<size_t>(frames * f.config.hop()));
  VoderTrace trace;
  f.voder.run(
      f.ctx, {jobs[0].features, jobs[0].frames, f.style(f.cases[0]), pitch, frames - 12},
      [](int64_t, std::span<float> out) { std::fill(out.begin(), out.end(), 0.f); }, samples,
      &trace);
  const auto start = static_cast<size_t>(2 * (frames - 12));
  EXPECT_EQ(trace.pitch[start - 5], 100.f);
  EXPECT_NEAR(trace.pitch[start], 95.f, 1e-3f);
  EXPECT_NEAR(trace.pitch.back(), 145.f, 1e-3f);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KokoroParity, testing::Values("published", "plain"));

}  // namespace
}  // namespace syrinx::kokoro
