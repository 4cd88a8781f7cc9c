// A conversation of three turns through the whole engine, compared with the authors' session and
// with their codec, whose stream goes on over the turns.
#include "engine/testing/listening.h"
#include "families/moss_tts/fixture.h"
#include "model/kept_stream.h"
#include "runtime/small_load.h"

namespace syrinx::moss_tts {
namespace {

/// Collects the codes of a turn, too.
class TurnReader : public Reader {
 public:
  void answer_ids(std::span<const int32_t> ids) override {
    codes.insert(codes.end(), ids.begin(), ids.end());
  }
  std::vector<int32_t> codes;
};

class MossTalk : public testing::Test {
 protected:
  struct Heard {
    std::vector<std::vector<int32_t>> codes;  ///< one vector per turn
    std::vector<std::vector<float>> samples;
    int64_t shared_rows = 0;  ///< rows of prompts that were in the cache
  };

  MossTalk() {
    for (Case& each : load_cases("other_shapes")) {
      if (each.name == "goes_on") case_ = std::make_unique<Case>(std::move(each));
    }
  }

  /// Speaks the turns of the case, each with the codes of the earlier ones. `between` is called
  /// with the stream before each turn.
  Heard talk(const EngineOptions& options,
             FunctionRef<void(std::shared_ptr<KeptStream>&)> between) {
    const auto engine = golden_engine(golden_dir("other_shapes") + "/checkpoint", options);
    auto kept = std::make_shared<KeptStream>();
    Heard heard;
    SpeechRequest request = case_->request;
    const std::vector<ContextTurn> turns = std::exchange(request.say.context, {});
    for (size_t i = 0; i <= turns.size(); ++i) {
      between(kept);
      request.say.kept = kept;
      request.say.text = i < turns.size() ? turns[i].text : case_->request.say.text;
      request.terms.max_frames =
          i < turns.size() ? static_cast<int>(turns[i].codes.size() / kCodebooks) : 24;
      const auto ear = std::make_shared<TurnReader>();
      EXPECT_TRUE(engine->submit(request, ear).ok());
      EXPECT_NE(ear->wait().reason, FinishReason::kError) << ear->wait().error.message;
      heard.codes.push_back(ear->codes);
      heard.samples.push_back(ear->samples());
      request.say.context.push_back({"0", request.say.text, ear->codes});
    }
    heard.shared_rows = engine->metrics().prefix_rows.value();
    return heard;
  }

  static constexpr size_t kCodebooks = 6;
  std::unique_ptr<Case> case_;
};

TEST_F(MossTalk, IsTheAuthorsAndTheSameWithoutItsStreamAndCache) {
  ASSERT_NE(case_, nullptr);
  const Heard kept = talk({}, [](auto&) {});
  const Safetensors& golden = case_->golden;
  EXPECT_EQ(kept.codes[0], ints(golden.view("context_0")));
  EXPECT_EQ(kept.codes[1], ints(golden.view("context_1")));
  EXPECT_EQ(kept.codes[2], ints(golden.view("frames")));
  const View want = golden.view("continued");
  const std::vector<float> samples(want.f32(), want.f32() + want.count());
  std::vector<float> got = kept.samples[2];
  ASSERT_GE(got.size(), samples.size());
  got.resize(samples.size());
  EXPECT_LT(relative(got, samples), 3e-5f);
  // All rows of the earlier turns but those that share a step with the end were in the cache.
  const int64_t rows = golden.view("prompt").shape[0];
  EXPECT_GT(kept.shared_rows, rows - 20);

  EngineOptions forgets;
  forgets.share_prefixes = false;
  const Heard again = talk(forgets, [](auto& stream) { stream->drop(); });
  EXPECT_EQ(again.shared_rows, 0);
  EXPECT_EQ(again.codes, kept.codes);
  EXPECT_EQ(again.samples, kept.samples) << "without stream and cache";

  const Heard anew = talk({}, [](auto& stream) { stream = std::make_shared<KeptStream>(); });
  EXPECT_EQ(anew.codes, kept.codes);
  EXPECT_NE(anew.samples[2], kept.samples[2]) << "the codec's state is heard";
}

}  // namespace
}  // namespace syrinx::moss_tts
