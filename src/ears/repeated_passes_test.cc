#include "ears/repeated_passes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"

namespace syrinx {
namespace {

/// Hears whole utterances, when the test says so: the transcript is how many samples there were.
class WholeRecogniser final : public Recogniser {
 public:
  struct Utterance {
    ListenOptions options;
    std::shared_ptr<TranscriptSink> sink;
    size_t samples = 0;
    bool ended = false, cancelled = false, told = false;
  };
  explicit WholeRecogniser(bool streams) { info_.streams = streams; }
  const RecogniserInfo& info() const override { return info_; }
  Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                         std::shared_ptr<TranscriptSink> sink) override {
    utterances.push_back(std::make_shared<Utterance>(Utterance{options, std::move(sink)}));
    return std::unique_ptr<Listener>(std::make_unique<Ear>(utterances.back()));
  }
  void tell(size_t at) {
    Utterance& one = *utterances.at(at);
    if (std::exchange(one.told, true)) return;
    Transcript out;
    out.segments.push_back({.text = concat(" ", one.samples), .tokens = {}});
    one.sink->finished(std::move(out));
  }
  std::vector<std::shared_ptr<Utterance>> utterances;

 private:
  class Ear final : public Listener {
   public:
    explicit Ear(std::shared_ptr<Utterance> one) : one_(std::move(one)) {}
    ~Ear() override { cancel(); }
    void hear(std::span<const float> samples) override { one_->samples += samples.size(); }
    void end() override { one_->ended = true; }
    void cancel() override { one_->cancelled = true; }

   private:
    const std::shared_ptr<Utterance> one_;
  };
  RecogniserInfo info_;
};

class PartialSink final : public TranscriptSink {
 public:
  void partial(std::string_view text) override { partials.emplace_back(text); }
  void segment(const TranscriptSegment& segment) override { segments.push_back(segment.text); }
  void finished(Result<Transcript> transcript) override { result = transcript.value().text(); }
  std::vector<std::string> partials, segments;
  std::optional<std::string> result;
};

TEST(RepeatedPasses, ReportWhatIsSaidSoFarEachHalfSecond) {
  const auto recogniser = std::make_shared<WholeRecogniser>(false);
  const auto sink = std::make_shared<PartialSink>();
  auto listener = listen_in_passes(recogniser, {.live = true}, sink).take();
  const std::vector<float> tenth(kHearingRate / 10, 0.f);
  for (int i = 0; i < 4; ++i) listener->hear(tenth);
  EXPECT_EQ(recogniser->utterances.size(), 1u) << "0.4 s are not enough";
  listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 2u);
  EXPECT_TRUE(recogniser->utterances[1]->options.background);
  EXPECT_FALSE(recogniser->utterances[1]->options.live);
  EXPECT_TRUE(recogniser->utterances[1]->ended);
  for (int i = 0; i < 10; ++i) listener->hear(tenth);
  EXPECT_EQ(recogniser->utterances.size(), 2u) << "one pass at a time";
  recogniser->tell(1);
  EXPECT_EQ(sink->partials, std::vector<std::string>{"8000"});
  listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 3u);
  // Text that has become final is not part of a hypothesis.
  recogniser->utterances[0]->sink->segment({.end_s = 1, .text = " one", .tokens = {}});
  recogniser->tell(2);
  EXPECT_EQ(sink->partials.size(), 1u);
  for (int i = 0; i < 5; ++i) listener->hear(tenth);
  ASSERT_EQ(recogniser->utterances.size(), 4u);
  EXPECT_EQ(recogniser->utterances[3]->samples, size_t{kHearingRate} / 10 * 11);
  listener->end();
  EXPECT_TRUE(recogniser->utterances[3]->cancelled);
  recogniser->tell(3);
  EXPECT_EQ(sink->partials.size(), 1u) << "after the end only the result counts";
  recogniser->tell(0);
  EXPECT_EQ(sink->result, std::to_string(kHearingRate / 10 * 21));
}

TEST(RepeatedPasses, AreForThoseAloneThatDoNotStream) {
  const std::vector<float> second(kHearingRate, 0.f);
  for (const bool streams : {false, true}) {
    const auto recogniser = std::make_shared<WholeRecogniser>(streams);
    auto listener =
        listen_in_passes(recogniser, {.live = streams}, std::make_shared<PartialSink>()).take();
    listener->hear(second);
    EXPECT_EQ(recogniser->utterances.size(), 1u);
  }
}

}  // namespace
}  // namespace syrinx
