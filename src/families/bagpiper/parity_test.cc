// Compares the model with ESPnet on a small checkpoint: prompt ids, rows, logits, words, greedy
// frames, recordings, samples.
#include "base/worst.h"
#include "codec/dac_fixture.h"
#include "families/bagpiper/fixture.h"
#include "io/golden_samples.h"
#include "model/run_streams.h"

namespace syrinx::bagpiper {
namespace {

constexpr float kBagpiperLogits = 1e-4f;  // error relative to the largest logit of the row
constexpr int64_t kTail = 7;              // steps after the last frame
// Smallest number of logits in a step: that of a step of codes. A step of words has more.
constexpr size_t kLeastLogits = 200;

class BagpiperParity : public testing::Test {
 protected:
  BagpiperParity() : cases_(load_cases()), model_({golden_path("checkpoint"), "x"}) {}

  /// Returns the largest relative error of the logits of some steps; `want`: [steps, logits of
  /// words and first codes, then those of the other codebooks].
  static float worst(const Track& track, size_t from, const View& want) {
    float worst = 0;
    for (int64_t s = 0; s < want.shape[0]; ++s) {
      std::vector<float> got = track.logits[from + s];
      const std::vector<float>& inner = track.inner[from + s];
      got.insert(got.end(), inner.begin(), inner.end());
      worst = worse(worst, relative(Computed(got, floats(want.slice(s, s + 1)), kLeastLogits)));
    }
    return worst;
  }
  /// Returns the likeliest text id of step `now`.
  int32_t best_word(const std::vector<float>& logits, size_t now) const {
    const ModelConfig& m = model_.config();
    int32_t best = now > 0 ? kEnd : ModelConfig::kFirstWord;
    const auto look = [&](int32_t begin, int32_t end) {
      for (int32_t i = begin; i < end; ++i)
        if (logits[i] > logits[best]) best = i;
    };
    if (now > 0) look(kEnd, kEndPart + 1);
    look(ModelConfig::kFirstWord, m.first_code(0));
    return best;
  }

  std::vector<Case> cases_;
  Bagpiper model_;
};

TEST_F(BagpiperParity, SizesAreReadOffTheTensors) {
  const ModelConfig& m = model_.config();
  EXPECT_EQ(m.streams, 8);
  EXPECT_EQ(m.codes, 24);
  EXPECT_EQ(m.audio.width, 128);
  EXPECT_EQ(m.audio.heads, 2);
  EXPECT_EQ(m.audio.layers, 1);
  EXPECT_EQ(m.audio.out, 24);
  EXPECT_EQ(m.audio.window, 800);
  EXPECT_EQ(model_.codec().config().hop(), 320);
  EXPECT_EQ(model_.info().speech.sample_rate, 16000);
}

TEST_F(BagpiperParity, PromptsAndRowsAreEspnets) {
  float most = 0;
  for (const Case& c : cases_) {
    Runner runner(model_);
    Track track = hear(model_, runner, c.request);
    const std::span<const int32_t> ids = track.state->prompt_ids();
    ASSERT_EQ(std::vector(ids.begin(), ids.end()), ints(c.golden->view("prompt_ids"))) << c.name;
    const View want = c.golden->view("prefill");  // the prompt's last rows, except two
    const int kept = static_cast<int>(want.shape[0]);
    const ArSeq seq{track.state.get(), track.state->prompt_rows() - 2 - kept, kept, 1};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View got = model_.lm().embed_rows(runner.context(), batch);
    const bool heard = !c.request.writing.recordings.empty();
    const float off = relative(floats(got), floats(want));
    EXPECT_LT(off, heard ? 2e-5f : 1e-6f) << c.name;
    if (heard) most = std::max(most, off);
  }
  RecordProperty("worst_heard_rows", std::to_string(most * 1e6) + "e-6");
}

TEST_F(BagpiperParity, WordsThenSpeech) {
  float most = 0;
  int frames = 0, ended = 0, heard = 0;
  for (const Case& c : cases_) {
    if (c.guided) continue;
    Runner runner(model_);
    Track track = hear(model_, runner, c.request);
    const std::vector<int32_t> want = ints(c.golden->view("tokens"));
    std::vector<int32_t> got;
    for (size_t step = 0; step < want.size(); ++step) {
      ASSERT_FALSE(track.finished) << c.name << " " << step;
      runner.step(track);
      got.push_back(best_word(track.logits.back(), step));
    }
    EXPECT_EQ(got, want) << c.name;
    most = std::max(most, worst(track, 0, c.golden->view("logits")));
    heard += !c.request.writing.recordings.empty();
    if (!c.spoken) {
      EXPECT_EQ(track.finished, c.more.empty()) << c.name;
      EXPECT_EQ(std::ssize(want), c.steps);
      continue;
    }
    for (int step = static_cast<int>(want.size()); step < c.steps; ++step) {
      ASSERT_FALSE(track.finished) << c.name << " " << step;
      runner.step(track);
    }
    EXPECT_EQ(track.finished, c.more.empty()) << c.name;
    ASSERT_EQ(track.frames, ints(c.golden->view("frames"))) << c.name;
    most = std::max(most, worst(track, want.size() + 2, c.golden->view("speech_logits")));
    frames = std::max(frames, static_cast<int>(track.frames.size() / 8));
    ended += c.ended;
  }
  EXPECT_LT(most, kBagpiperLogits);
  EXPECT_GE(frames, 200);
  EXPECT_GE(ended, 1);
  EXPECT_EQ(heard, 2);
  RecordProperty("worst_logits", std::to_string(most * 1e6) + "e-6");
}

// The part is complete. It ends with the mark that announces another part.
TEST_F(BagpiperParity, TheModelSaysWhatFollows) {
  float most = 0;
  size_t words = 0, speech = 0;
  for (const Case& c : cases_) {
    if (c.guided || c.more.empty()) continue;
    Runner runner(model_);
    Track track = hear(model_, runner, c.request);
    for (int step = 0; step < c.steps; ++step) runner.step(track);
    for (size_t n = 0; n < c.more.size(); ++n) {
      ASSERT_FALSE(track.finished) << c.name << " " << n;
      if (n % 2 == 0) runner.drop(track);  // then the rows so far must run again
      const std::string name = "more_" + std::to_string(n);
      const bool speaks = c.more[n].empty();
      const size_t before = track.frames.size(), first = track.logits.size() + 1;
      // A step for the kind (words or speech), one per id or frame; kTail + 1 more end speech.
      const int64_t steps = 1 + c.golden->view(name).shape[0] + (speaks ? kTail + 1 : 0);
      for (int64_t step = 0; step < steps; ++step) runner.step(track);
      most = std::max(most, worst(track, first, c.golden->view(name + "_logits")));
      if (!speaks) continue;
      const std::vector<int32_t> frames(track.frames.begin() + static_cast<int64_t>(before),
                                        track.frames.end());
      EXPECT_EQ(frames, ints(c.golden->view(name))) << c.name << " " << n;
    }
    if (!track.finished) runner.step(track);  // ends with too many words, or unrequested speech
    EXPECT_TRUE(track.finished) << c.name;
    EXPECT_EQ(track.text, c.words()) << c.name;
    for (const std::string& part : c.more) ++(part.empty() ? speech : words);
  }
  EXPECT_EQ(words, 16u);
  EXPECT_EQ(speech, 3u);
  EXPECT_LT(most, kBagpiperLogits);
  RecordProperty("worst_logits", std::to_string(most * 1e6) + "e-6");
}

// Compares the rows of the first step of guided speech, of the sequence and of its companion,
// before their logits are merged.
TEST_F(BagpiperParity, ACompanionIsTheProgramsOwn) {
  const ArTraits& traits = model_.lm().traits();
  float most = 0;
  int compared = 0;
  for (const Case& c : cases_) {
    if (!c.guided) continue;
    const auto state = model_.open(c.request).take().only();
    std::vector<int32_t> codes(8, kPad), frames;
    std::vector<WordMark> marks;
    StepOutput out(frames, marks);
    std::vector<int32_t> ids = ints(c.golden->view("tokens"));
    ids.push_back(kAssistant), ids.push_back(kAudio);
    for (const int32_t id : ids) {
      codes[0] = id;
      ASSERT_EQ(state->advance(codes, out).next, Verdict::kContinue);
    }
    const int rows = state->prompt_rows() + static_cast<int>(std::ssize(ids));
    const int pages = (rows + KvPool::kPageRows - 1) / KvPool::kPageRows;
    KvPool pool(traits.kv[0], 2 * pages);
    std::vector<int32_t> table(static_cast<size_t>(2 * pages));
    for (int i = 0; i < 2 * pages; ++i) table[static_cast<size_t>(i)] = i;
    const int32_t begins[] = {0, rows, 2 * rows}, lengths[] = {rows, rows};
    const ArSeq seqs[] = {{state.get(), 0, rows, 1, false}, {state.get(), 0, rows, 1, true}};
    const ArBatch batch{seqs, 2 * rows, 2, {begins, lengths, table, pages}, std::span(&pool, 1),
                        {}};
    Runner runner(model_);
    StepContext& ctx = runner.context();
    const View hidden = ctx.arena.take({2, traits.hidden}, DType::kF32);
    model_.lm().forward(ctx, batch, hidden);
    std::vector<float> got[2];
    for (int k = 0; k < 8; ++k) {
      const View logits = ctx.arena.take({2, traits.vocab[k]}, DType::kF32);
      model_.lm().logits(ctx, k, batch, hidden, {}, logits);
      for (int i = 0; i < 2; ++i) {
        const std::span<const float> row = floats(logits.slice(i, i + 1));
        got[i].insert(got[i].end(), row.begin(), row.end());
      }
    }
    const char* names[] = {"speech_logits", "companion_logits"};
    for (int i = 0; i < 2; ++i) {
      const View want = c.golden->view(names[i]).slice(0, 1);
      most = worse(most, relative(Computed(got[i], floats(want), kLeastLogits)));
    }
    ++compared;
  }
  EXPECT_EQ(compared, 3);
  EXPECT_LT(most, kBagpiperLogits);
  RecordProperty("worst_logits", std::to_string(most * 1e6) + "e-6");
}

TEST_F(BagpiperParity, RecordingsAreHeardAsEspnetHearsThem) {
  const Safetensors golden(golden_path("tower.safetensors"));
  float most = 0;
  int compared = 0;
  for (const std::string& name : golden.names()) {
    SpeechRequest r;
    r.writing.chat = std::make_shared<Chat>(
        Chat{R"([{"role": "user", "content": [{"type": "audio", "audio": ""}]}])", "", {}});
    r.writing.text_only = true;
    const size_t rate = name.rfind('_');  // names are rows_SAMPLES_RATE
    r.writing.recordings.push_back(
        recording_of(std::stoll(name.substr(5, rate - 5)), std::stoi(name.substr(rate + 1))));
    Runner runner(model_);
    const std::vector<float> got =
        heard_rows(runner.context(), model_.graph(), model_.open(r).take());
    const View want = golden.view(name);
    ASSERT_EQ(std::ssize(got), want.count()) << name;
    const float off = relative(got, floats(want));
    EXPECT_LT(off, 2e-5f) << name;
    most = std::max(most, off);
    ++compared;
  }
  EXPECT_EQ(compared, 7);
  RecordProperty("worst_rows", std::to_string(most * 1e6) + "e-6");
}

TEST_F(BagpiperParity, SamplesOfTheCodec) {
  EXPECT_EQ(fixture::compare_golden(model_.codec(), golden_path("codec.safetensors"), 0, 1e-5f), 5);
}

TEST_F(BagpiperParity, SamplesOfARequest) {
  const Case& c = cases_[0];
  Runner runner(model_);
  const ChunkStage& stage = *model_.graph().node(2).chunk;
  const std::vector<int32_t> frames = ints(c.golden->view("frames"));
  const auto kept = std::span(frames).first(static_cast<size_t>(c.kept_samples * stage.in_width()));
  const auto got = run_stream(runner.context(), stage, {},
                              stream_of(stage, *runner.open(c.request).state, kept));
  EXPECT_LT(GoldenSamples(*c.golden).distance(got), 1e-5f);
}

}  // namespace
}  // namespace syrinx::bagpiper
