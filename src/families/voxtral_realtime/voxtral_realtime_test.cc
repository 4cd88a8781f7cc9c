// Tests what only Voxtral Realtime has: the silence before recordings, and its tokenizer. The suite
// of live recognisers compares the model with transformers.
#include "families/live/fixture.h"
#include "families/voxtral_realtime/pipeline.h"
#include "text/tokens/tekken.h"

namespace syrinx::voxtral_realtime {
namespace {

std::string checkpoint_of(const std::string& name) {
  return live::golden_path("voxtral_realtime", name + "/checkpoint");
}

/// The silence before recordings is computed once, and only used for recordings that begin with it.
TEST(VoxtralRealtime, OnlySilenceIsComputedOnce) {
  for (const std::string name : {"small", "other"}) {
    const VoxtralRealtime model({checkpoint_of(name), "x"}), fresh({checkpoint_of(name), "x"});
    const std::vector<float> recording =
        live::samples_of(live::cases_of("voxtral_realtime", name)[0]);
    const auto said = [&](const VoxtralRealtime& of, bool silent) {
      live::Stream stream(of);
      if (!silent) stream.samples.clear();
      stream.hear(recording, 160, true, of.info().hearing.tail);
      live::Stream* only[] = {&stream};
      live::Stream::run(of, only);
      live::Steps steps(of);
      steps.add(stream.rows);
      steps.run(std::vector<size_t>{0});
      return std::pair(stream.rows, steps.said[0].logits);
    };
    const auto first = said(model, true);
    EXPECT_EQ(said(model, true), first);
    EXPECT_EQ(said(model, false), said(fresh, false));
  }
}

TEST(VoxtralRealtime, TokensAndTextsOfTheTokenizer) {
  for (const std::string name : {"small", "other"}) {
    const Tokenizer words = read_tekken(checkpoint_of(name) + "/tekken.json").tokenizer;
    for (const auto& each : live::golden_of("voxtral_realtime", name)["texts"]) {
      const std::string text = each["text"];
      const auto ids = each["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(words.encode(text), ids) << text;
      EXPECT_EQ(words.decode(ids), text);
    }
  }
}

}  // namespace
}  // namespace syrinx::voxtral_realtime
