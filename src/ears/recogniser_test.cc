#include "ears/recogniser.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ears/full_scale.h"

namespace syrinx {
namespace {

const RecogniserInfo kEnglish{.name = "small", .languages = {"en"}};

TEST(Recogniser, OptionsAreHeldAgainstWhatItCan) {
  EXPECT_TRUE(check_listen(kEnglish, {}).ok());
  EXPECT_TRUE(check_listen(kEnglish, {.language = "en"}).ok());
  const Status german = check_listen(kEnglish, {.language = "de"});
  ASSERT_FALSE(german.ok());
  EXPECT_EQ(german.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(german.error().param, "language");
  EXPECT_FALSE(check_listen(kEnglish, {.translate = true}).ok());
  EXPECT_EQ(check_listen(kEnglish, {.temperatures = {0.5f, 1.5f}}).error().param, "temperature");
  EXPECT_FALSE(check_listen(kEnglish, {.temperatures = {NAN}}).ok());
  EXPECT_EQ(check_listen(kEnglish, {.prompt = std::string(9000, 'a')}).error().param, "prompt");
}

TEST(Recogniser, AskedForLogProbabilitiesOnlyWhereItHasThem) {
  const Status fit = check_listen({.name = "deaf"}, {.scores = true});
  ASSERT_FALSE(fit.ok());
  EXPECT_EQ(fit.error().param, "include");
  EXPECT_TRUE(check_listen({.scores = true}, {.scores = true}).ok());
}

TEST(Recogniser, TheTextIsThatOfItsSegments) {
  Transcript transcript;
  EXPECT_EQ(transcript.text(), "");
  transcript.segments.push_back({.text = " Hello there.", .tokens = {}});
  transcript.segments.push_back({.text = " How are you? ", .tokens = {}});
  EXPECT_EQ(transcript.text(), "Hello there. How are you?");
}

TEST(FullScale, KeepsTheShapeOfWhatIsTooLoud) {
  FullScale loud, quiet;
  for (int i = 0; i < 1000; ++i) {
    const auto wave = static_cast<float>(std::sin(0.05 * i));
    EXPECT_EQ(quiet(wave), wave);
    const float fitted = loud(3 * wave);
    EXPECT_LE(std::abs(fitted), 1);
    if (i >= 100) {
      EXPECT_NEAR(fitted, wave, 1e-3) << i;
    }
  }
  EXPECT_EQ(loud(NAN), 0);
  EXPECT_EQ(loud(-INFINITY), 0);
  EXPECT_NEAR(loud(3), 1, 1e-3);
}

}  // namespace
}  // namespace syrinx
