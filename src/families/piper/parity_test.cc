// Compares Piper's network with onnxruntime for the same graphs and noise (tests/parity/piper):
// whole texts, pieces and batches.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "base/error.h"
#include "base/worst.h"
#include "families/piper/network.h"
#include "io/file.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx::piper {
namespace {

/// A graph and onnxruntime's results.
struct GoldenVoice {
  std::string model, golden;
};

std::vector<GoldenVoice> golden_voices() {
  const std::string dir = parity_dir() + "piper/golden/";
  std::vector<GoldenVoice> out;
  for (const char* name : {"one_speaker", "many_speakers", "pairs"}) {
    out.push_back({dir + name + ".onnx", dir + name + ".safetensors"});
  }
  // Adds a published voice if the variable is set: its graph and the golden file of make_golden.py.
  const char* model = std::getenv("SYRINX_PIPER_VOICE");
  const char* golden = std::getenv("SYRINX_PIPER_GOLDEN");
  if (model && golden) out = {{model, golden}};
  return out;
}

/// Returns each voice twice: with f32 weights as in the file, and with weights of the default type.
/// An emulated GPU is slow: for it, returns the voice of many speakers once.
std::vector<std::pair<GoldenVoice, WeightType>> golden_runs(Device device = Device::kCpu) {
  if (fixture::emulated(device)) return {{golden_voices()[1], WeightType::kF32}};
  std::vector<std::pair<GoldenVoice, WeightType>> out;
  for (const GoldenVoice& voice : golden_voices()) {
    out.emplace_back(voice, WeightType::kF32), out.emplace_back(voice, WeightType::kQ8);
  }
  return out;
}

std::span<const float> numbers(const View& view) {
  return {view.f32(), static_cast<size_t>(view.count())};
}

struct ReadText {
  std::vector<int32_t> durations;
  std::vector<float> prior;
};

class GoldenRun {
 public:
  explicit GoldenRun(const GoldenVoice& voice, WeightType type = WeightType::kF32,
                     Device device = Device::kCpu)
      : golden_(voice.golden), network_(voice.model, type), speech_(2, device) {
    if (device != Device::kCpu) network_.move_to(device);
  }

  std::vector<float> embedding() const {
    std::vector<float> shares(static_cast<size_t>(network_.speakers()));
    if (shares.size() > 1) shares[golden_.view("speaker").i32()[0]] = 1;
    return network_.embedding(shares);
  }
  ReadText read() {
    ReadText out;
    const View ids = golden_.view("ids");
    const std::vector<float> condition = network_.text_condition(embedding());
    TextJob job{
        {ids.i32(), static_cast<size_t>(ids.count())}, numbers(golden_.view("noise_w")), condition};
    job.durations = &out.durations, job.prior = &out.prior;
    network_.read(bench_.ctx, {&job, 1});
    bench_.arena.reset();
    return out;
  }
  /// Returns the latents [T, C] of a golden text.
  Tensor latents(const ReadText& text) const {
    const View noise = golden_.view("noise_z");
    Tensor out(noise.shape, DType::kF32);
    int64_t t = 0;
    for (size_t p = 0; p < text.durations.size(); ++p) {
      for (int32_t i = 0; i < text.durations[p]; ++i, ++t) {
        const int64_t at = t * network_.latent();
        network_.draw(text.prior.data() + 2 * static_cast<int64_t>(p) * network_.latent(),
                      noise.f32() + at, 0.667f, out.f32() + at);
      }
    }
    EXPECT_EQ(t, noise.shape[0]);
    return out;
  }
  /// Speaks pieces of the given sizes in turn. Checks that each call returns all final samples.
  std::vector<float> speak(const View& latents, std::span<const int64_t> pieces) {
    Network::Stream stream = network_.open(embedding());
    const int64_t frames = latents.shape[0];
    int64_t begin = 0;
    for (size_t i = 0; begin < frames; ++i) {
      const int64_t end = std::min(begin + pieces[i % pieces.size()], frames);
      const Network::FrameJob job{&stream, latents.slice(begin, end), end == frames};
      network_.speak(speech_.ctx, {&job, 1});
      speech_.back();
      speech_.arena.reset();
      const int64_t certain = std::max<int64_t>(0, end - network_.lookahead()) * network_.hop();
      EXPECT_GE(std::ssize(stream.samples), certain) << end << " of " << frames;
      begin = end;
    }
    EXPECT_EQ(std::ssize(stream.samples), frames * network_.hop());
    return stream.samples;
  }

  const Safetensors& golden() const { return golden_; }
  const Network& network() const { return network_; }
  StepContext& reading() { return bench_.ctx; }
  StepContext& speaking() { return speech_.ctx; }

 private:
  Safetensors golden_;
  Network network_;
  fixture::Bench bench_, speech_;  // for read(), and for speak() on the device of the test
};

Tensor golden_latents(const GoldenVoice& voice) {
  GoldenRun run(voice);
  return run.latents(run.read());
}

/// The largest distance from the original's samples, and the mean distance relative to their power.
struct Distance {
  float worst = 0;
  double rms = 0;
};

Distance distance(std::span<const float> got, std::span<const float> want) {
  Distance out;
  double off = 0, power = 0;
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    out.worst = worse(out.worst, std::fabs(got[i] - want[i]));
    off += std::pow(double{got[i]} - want[i], 2), power += std::pow(double{want[i]}, 2);
  }
  out.rms = std::sqrt(off / power);
  return out;
}

TEST(PiperParity, DurationsAreEqual) {
  for (const auto& [voice, type] : golden_runs()) {
    SCOPED_TRACE(voice.model + weight_type_name(type));
    GoldenRun run(voice, type);
    const ReadText text = run.read();
    const auto want = numbers(run.golden().view("durations"));
    ASSERT_EQ(text.durations.size(), want.size());
    // Rounded weights may change a duration that is close to a whole number by one frame.
    const int32_t most = type == WeightType::kF32 ? 0 : 1;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(text.durations[i], static_cast<int32_t>(want[i]), most) << "id " << i;
    }
  }
}

class PiperSpeaks : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, PiperSpeaks, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(PiperSpeaks, SamplesThatAreNear) {
  for (const auto& [voice, type] : golden_runs(GetParam())) {
    SCOPED_TRACE(voice.model + weight_type_name(type));
    GoldenRun run(voice, type, GetParam());
    const int64_t whole[] = {1 << 20};
    const Distance off =
        distance(run.speak(golden_latents(voice), whole), numbers(run.golden().view("samples")));
    const bool exact = type == WeightType::kF32;
    EXPECT_LT(off.worst, exact ? 5e-5f : 0.1f);
    EXPECT_LT(off.rms, exact ? 2e-5 : 0.05);
    RecordProperty(concat("worst_", voice.model.substr(voice.model.rfind('/') + 1), "_",
                          weight_type_name(type)),
                   std::to_string(off.worst * 1e6) + "e-6");
  }
}

TEST_P(PiperSpeaks, PiecesWithTheBitsOfTheWhole) {
  for (const auto& [voice, type] : golden_runs(GetParam())) {
    SCOPED_TRACE(voice.model + weight_type_name(type));
    GoldenRun run(voice, type, GetParam());
    const Tensor latents = golden_latents(voice);
    const int64_t whole[] = {1 << 20}, small[] = {1, 2, 7}, large[] = {33, 5, 64};
    const std::vector<float> want = run.speak(latents, whole);
    EXPECT_EQ(run.speak(latents, small), want);
    EXPECT_EQ(run.speak(latents, large), want);
  }
}

/// Runs streams of different lengths, cut at different places, in one batch.
TEST_P(PiperSpeaks, BatchesWithTheBitsOfStreamsAlone) {
  for (const auto& [voice, type] : golden_runs(GetParam())) {
    SCOPED_TRACE(voice.model + weight_type_name(type));
    GoldenRun run(voice, type, GetParam());
    const Tensor latents = golden_latents(voice);
    const int64_t all = latents.view().shape[0], lengths[] = {all, all / 2, 1, all / 3};
    const int64_t steps[] = {40, 17, 1, 5}, whole[] = {1 << 20};
    std::vector<Network::Stream> streams;
    for (size_t i = 0; i < 4; ++i) streams.push_back(run.network().open(run.embedding()));
    int64_t at[4] = {};
    for (bool more = true; more;) {
      std::vector<Network::FrameJob> jobs;
      for (size_t i = 0; i < 4; ++i) {
        const int64_t end = std::min(at[i] + steps[i], lengths[i]);
        if (at[i] == end) continue;
        jobs.push_back({&streams[i], latents.view().slice(at[i], end), end == lengths[i]});
        at[i] = end;
      }
      more = !jobs.empty();
      run.network().speak(run.speaking(), jobs);
    }
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(streams[i].samples, run.speak(latents.view().slice(0, lengths[i]), whole)) << i;
    }
  }
}

/// Reads texts of different lengths in one batch.
TEST(PiperParity, TextsAreReadAlikeInABatch) {
  for (const auto& [voice, type] : golden_runs()) {
    SCOPED_TRACE(voice.model + weight_type_name(type));
    GoldenRun run(voice, type);
    const View ids = run.golden().view("ids");
    const auto noise = numbers(run.golden().view("noise_w"));
    const std::vector<float> condition = run.network().text_condition(run.embedding());
    const size_t lengths[] = {static_cast<size_t>(ids.count()), 3, 17, 1};
    const auto job_of = [&](size_t i, ReadText& out) {
      TextJob job{{ids.i32(), lengths[i]}, noise.first(2 * lengths[i]), condition};
      job.durations = &out.durations, job.prior = &out.prior;
      return job;
    };
    std::vector<ReadText> together(4), alone(4);
    std::vector<TextJob> jobs;
    for (size_t i = 0; i < 4; ++i) jobs.push_back(job_of(i, together[i]));
    run.network().read(run.reading(), jobs);
    for (size_t i = 0; i < 4; ++i) {
      TextJob job = job_of(i, alone[i]);
      run.network().read(run.reading(), {&job, 1});
      EXPECT_EQ(alone[i].durations, together[i].durations);
      EXPECT_EQ(alone[i].prior, together[i].prior);
    }
  }
}

std::string load_fault_of(const std::string& path) {
  try {
    const Network network(path);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(PiperNetwork, AnotherGraphIsRefusedByName) {
  const TestDir dir;
  EXPECT_NE(load_fault_of(dir.write("a.onnx", "")).find("found no graph"), std::string::npos);
  // Loads a model whose graph is empty.
  const std::string fault = load_fault_of(dir.write("b.onnx", std::string("\x3a\x00", 2)));
  EXPECT_NE(fault.find("enc_p.emb.weight"), std::string::npos) << fault;
  EXPECT_NE(fault.find("expected a Piper voice"), std::string::npos) << fault;
}

TEST(PiperNetwork, DamageIsAFaultAndNothingElse) {
  const TestDir dir;
  const std::string whole = read_file(golden_voices()[2].model, size_t{1} << 30);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string content = whole;
    for (uint32_t change = 0; change <= random() % 4; ++change) {
      content[random() % content.size()] = static_cast<char>(random());
    }
    if (round % 4 == 0) content.resize(random() % content.size());
    load_fault_of(dir.write("a.onnx", content));
  }
}

}  // namespace
}  // namespace syrinx::piper
