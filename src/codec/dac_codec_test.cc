// Checks streams of the DAC decoder with random weights. snac_test.cc and dac_test.cc compare
// results with the original code.
#include "codec/dac_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "codec/snac.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

DacCodecConfig small(bool snac) {
  DacCodecConfig c;
  c.codebooks = 3, c.codebook_size = 16, c.codebook_dim = 4;
  c.decoder = {.latent = 12,
               .channels = 32,
               .rates = {3, 4},
               .depthwise = snac,
               .noise = snac,
               .names = snac ? DacNames::kSequential : DacNames::kNamed};
  return c;
}

std::vector<int32_t> random_codes(const DacCodecConfig& c, int64_t frames, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<int32_t> codes(frames * c.codebooks);
  for (int32_t& code : codes) code = static_cast<int32_t>(engine() % c.codebook_size);
  return codes;
}

/// Cuts a stream into chunks of random sizes drawn from `engine`, and makes a job for each chunk.
struct Cutter {
  const DacCodec& codec;
  std::vector<int32_t> codes;
  DacCodecState state;
  uint32_t seed;
  std::mt19937 engine{seed};
  std::vector<float> out = {};

  int64_t frames() const { return static_cast<int64_t>(codes.size()) / codec.config().codebooks; }
  bool done() const { return state.frames() == frames(); }
  /// Returns the next chunk's job; its samples are appended to `out`.
  DacCodecJob next(int64_t most) {
    const int64_t q = codec.config().codebooks, at = state.frames(), left = frames() - at;
    DacCodecJob job;
    job.state = &state;
    job.fresh = std::min<int64_t>(1 + engine() % most, left);
    const int64_t ahead = std::min(codec.config().lookahead(), left - job.fresh);
    job.last = job.fresh + ahead == left;
    if (ahead < codec.config().lookahead() && !job.last) job.last = true;
    job.codes = std::span(codes).subspan(at * q, (job.fresh + ahead) * q);
    out.resize((at + job.fresh) * codec.config().hop());
    job.out = std::span(out).last(job.fresh * codec.config().hop());
    return job;
  }
};

class DacCodecTest : public testing::TestWithParam<bool> {
 protected:
  DacCodecTest() : codec_(small(GetParam()), Weights(dummy_weights())) {}

  std::vector<float> whole(const std::vector<int32_t>& codes, uint64_t seed = 7) {
    fixture::Bench bench;
    Cutter cutter{codec_, codes, codec_.open(seed), 0};
    DacCodecJob job;
    job.state = &cutter.state;
    job.codes = codes;
    job.fresh = cutter.frames();
    job.last = true;
    cutter.out.resize(job.fresh * codec_.config().hop());
    job.out = cutter.out;
    codec_.run(bench.ctx, std::span(&job, 1));
    return cutter.out;
  }
  DacCodec codec_;
};

TEST_P(DacCodecTest, StreamedIsWhole) {
  fixture::Bench bench;
  for (const int64_t frames : {0, 1, 2, 13, 14, 15, 16, 60}) {
    const std::vector<int32_t> codes = random_codes(codec_.config(), frames, 5);
    const std::vector<float> want = whole(codes);
    for (uint32_t seed = 1; seed < 5; ++seed) {
      Cutter cutter{codec_, codes, codec_.open(7), seed};
      while (!cutter.done()) {
        const DacCodecJob job = cutter.next(seed == 1 ? 1 : 9);
        bench.arena.reset();
        codec_.run(bench.ctx, std::span(&job, 1));
      }
      EXPECT_TRUE(cutter.out == want) << frames << " frames, cut " << seed;
    }
  }
}

TEST_P(DacCodecTest, StreamsDoNotTouchEachOther) {
  fixture::Bench bench(2);
  std::vector<Cutter> cutters;
  for (uint32_t i = 0; i < 5; ++i) {
    cutters.push_back(
        {codec_, random_codes(codec_.config(), 10 + 11 * i, i), codec_.open(7 + i), i});
  }
  for (bool open = true; open;) {
    std::vector<DacCodecJob> jobs;
    for (Cutter& cutter : cutters)
      if (!cutter.done()) jobs.push_back(cutter.next(12));
    open = !jobs.empty();
    bench.arena.reset();
    codec_.run(bench.ctx, jobs);
  }
  for (uint32_t i = 0; i < cutters.size(); ++i)
    EXPECT_TRUE(cutters[i].out == whole(cutters[i].codes, 7 + i)) << i;
}

TEST_P(DacCodecTest, LooksAheadAsFarAsItMustAndNoFurther) {
  const std::vector<int32_t> codes = random_codes(codec_.config(), 60, 5);
  const std::vector<float> want = whole(codes);
  const int64_t hop = codec_.config().hop(), q = codec_.config().codebooks;
  const int64_t look = codec_.config().lookahead(), delay = codec_.config().decoder.delay();
  // A change of frame 30 must change the first sample that depends on it, and no earlier sample.
  std::vector<int32_t> changed = codes;
  changed[30 * q] = (changed[30 * q] + 1) % 16;
  const std::vector<float> got = whole(changed);
  const auto differs = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
  EXPECT_GE(differs, 30 * hop - delay);
  EXPECT_LT(differs, (30 - look + 1) * hop) << "a smaller lookahead would do";
}

TEST_P(DacCodecTest, RefusesWhatIsNoCode) {
  fixture::Bench bench;
  for (const int32_t code : {-1, 16}) {
    std::vector<int32_t> codes = random_codes(codec_.config(), 2, 5);
    codes[4] = code;
    EXPECT_THROW(whole(codes), InternalError);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DacCodecTest, testing::Bool());

TEST(DacCodecNoise, IsAFunctionOfSeedAndPlace) {
  std::vector<float> all(1000), part(300);
  DacDecoder::noise(9, 2, 0, all);
  DacDecoder::noise(9, 2, 555, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 555));
  DacDecoder::noise(9, 1, 0, std::span(part).first(10));
  EXPECT_NE(part[0], all[0]);
  double power = 0;
  for (const float x : all) power += x * x;
  EXPECT_NEAR(power / 1000, 1, 0.15);
}

TEST(DacCodecSizes, OfThePublishedModels) {
  EXPECT_EQ(SnacConfig().codec.hop(), 512);
  EXPECT_EQ(SnacConfig().codec.decoder.delay(), 4757);
  EXPECT_EQ(SnacConfig().codec.lookahead(), 10);
}

}  // namespace
}  // namespace syrinx
