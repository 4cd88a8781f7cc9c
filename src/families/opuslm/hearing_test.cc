// Compares encoded recordings with ESPnet: frames, prompts and transcripts. Also tests voices from
// recordings, the pieces of the work, and refused recordings.
#include "families/opuslm/hearing.h"

#include "codec/piece_runner.h"
#include "codec/qwen3_audio_fixture.h"
#include "families/opuslm/fixture.h"
#include "model/run_streams.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kStreams = 9;
constexpr int64_t kRecordings[] = {9333, 16000, 20111};

std::shared_ptr<Recording> recorded(int64_t count, int rate = 16000) {
  return std::make_shared<Recording>(
      Recording{fixture::golden_signal(count, static_cast<uint32_t>(count)), rate});
}

class OpusLmHearing : public testing::Test {
 protected:
  OpusLmHearing()
      : model_({plain_.path(), "tiny"}),
        talker_({voiced_.path(), "tiny"}),
        golden_(golden_path("hearing.safetensors")) {}

  std::vector<int32_t> golden_frames(int64_t count) const {
    return ints(golden_.view("frames_" + std::to_string(count)));
  }
  static SpeechRequest chat(const std::string& messages, std::vector<int64_t> recordings) {
    SpeechRequest r;
    r.writing.chat = std::make_shared<Chat>(Chat{messages, "", {}});
    r.writing.text_only = true;
    r.sampling.temperature = 0.f;
    for (const int64_t each : recordings) r.writing.recordings.push_back(recorded(each));
    return r;
  }
  static Error refusal(const OpusLm& model, const SpeechRequest& r) { return refusal_of(model, r); }
  /// Returns the hearing stage's rows, computed in steps of `step` frames.
  static std::vector<float> heard(const OpusLm& model, const Opened& opened, int step) {
    fixture::Bench bench(1);
    return heard_rows(bench.ctx, model.graph(), opened, step);
  }
  /// Opens a sequence and passes it the rows of its recordings.
  std::unique_ptr<Sequence> open(const OpusLm& model, const SpeechRequest& r) {
    Runner runner(model);
    Track track = hear(model, runner, r);
    EXPECT_TRUE(track.state->ready());
    return std::move(track.state);
  }
  static std::vector<int32_t> input(const Sequence& state, int row) {
    std::vector<int32_t> ids(kStreams);
    row_of(state, row, false, ids);
    return ids;
  }

  ModelDir plain_{false, true}, voiced_{true, true};
  OpusLm model_, talker_;
  Safetensors golden_;
};

TEST_F(OpusLmHearing, FramesAreEspnetsHoweverTheyCome) {
  for (const int64_t count : kRecordings) {
    const auto opened = model_.open(model_.dictation({recorded(count)}).take());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const std::vector<int32_t> want = golden_frames(count);
    for (const int step : {1, 7, 100000}) {
      const std::vector<float> got = heard(model_, opened.value(), step);
      EXPECT_EQ(std::vector<int32_t>(got.begin(), got.end()), want) << count << " " << step;
    }
  }
}

TEST_F(OpusLmHearing, WhatIsSaidIsWrittenDownAsEspnetDoes) {
  const SpeechRequest asked[] = {
      model_.dictation({recorded(kRecordings[2])}).take(),
      chat(R"([{"role":"user","content":[{"type":"audio"}]}])", {kRecordings[2]})};
  for (const SpeechRequest& r : asked) {
    EXPECT_TRUE(r.writing.text_only);
    Track track;
    track.state = open(model_, r);
    const std::span<const int32_t> ids = track.state->prompt_ids();
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), ints(golden_.view("prompt_ids")));
    Runner runner(model_);
    const std::vector<int32_t> want = ints(golden_.view("tokens"));
    std::vector<int32_t> got;
    while (!track.finished && got.size() < 100) {
      runner.step(track);
      const std::vector<float>& logits = track.logits.back();
      const ModelConfig& m = model_.config();
      int32_t best = got.empty() ? m.ids.text : m.ids.end;
      if (logits[m.ids.text] > logits[best]) best = m.ids.text;
      for (int32_t i = m.first_code; i < m.first_code + m.words; ++i)
        if (logits[i] > logits[best]) best = i;
      got.push_back(m.id_of(0, best));
    }
    EXPECT_EQ(got, want);
  }
}

TEST_F(OpusLmHearing, RowsBeforeARecordingAreKnownAndOnlyTheyHaveKeys) {
  auto opened = model_.open(model_.dictation({recorded(kRecordings[0])}).take()).take();
  const std::unique_ptr<Sequence> state = opened.only();
  EXPECT_EQ(state->known_rows(), 3);
  std::vector<uint64_t> keys;
  state->prefix_keys(false, keys);
  EXPECT_EQ(keys.size(), 3u);
  std::vector<float> rows(2 * kStreams, 1.f);
  const FrameType type{Flow::kRows, kStreams};
  ASSERT_TRUE(state->take(Answer::kHearing, {.type = type, .count = 2, .floats = rows}).ok());
  EXPECT_EQ(state->known_rows(), 5);
  EXPECT_FALSE(state->ready());
  // The rows that are known may run already.
  EXPECT_EQ(input(*state, 3)[0], model_.config().first_unit + 1);
  EXPECT_EQ(input(*state, 4)[1], model_.config().id_of(1, 2)) << "the frame before";
  rows[3] = 16;
  const Status wrong = state->take(Answer::kHearing, {.type = type, .count = 2, .floats = rows});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("stream 3 has the code 16; expected 0 to 15"),
            std::string::npos);
}

TEST_F(OpusLmHearing, ADialogueHearsItsUsersTurns) {
  const ControlIds& c = talker_.config().ids;
  const SpeechRequest r = chat(
      R"([{"role":"user","content":[{"type":"audio"},{"type":"text","text":"hello"}]},
          {"role":"assistant","content":"and"},{"role":"user","content":[{"type":"audio"}]}])",
      {kRecordings[0], kRecordings[1]});
  const std::unique_ptr<Sequence> state = open(talker_, r);
  std::vector<int32_t> want{c.end, c.audio_dialogue, c.user, c.speech};
  const auto hears = [&](int64_t count) {
    const std::vector<int32_t> frames = golden_frames(count);
    for (size_t at = 0; at < frames.size(); at += kStreams)
      want.push_back(frames[at] + talker_.config().first_unit);
    want.resize(want.size() + kStreams - 1, c.pad);
  };
  const auto reads = [&](int32_t role, const char* text) {
    want.push_back(role), want.push_back(c.text);
    for (const int32_t id : talker_.prompter().words(text)) want.push_back(id);
    if (role == c.assistant) want.push_back(c.end);
    want.resize(want.size() + kStreams - 1, c.pad);
  };
  hears(kRecordings[0]);
  reads(c.user, "hello");
  reads(c.assistant, "and");
  want.push_back(c.user), want.push_back(c.speech);
  hears(kRecordings[1]);
  want.push_back(c.assistant), want.push_back(c.text);
  const std::span<const int32_t> ids = state->prompt_ids();
  EXPECT_EQ(std::vector(ids.begin(), ids.end()), want);
  // The last code of the last frame comes eight rows later.
  const std::vector<int32_t> frames = golden_frames(kRecordings[1]);
  EXPECT_EQ(input(*state, static_cast<int>(want.size()) - 3)[8],
            talker_.config().id_of(8, frames.back() + 1));
}

TEST_F(OpusLmHearing, ADialogueWritesItsUsersWordsDown) {
  const ControlIds& c = talker_.config().ids;
  const auto state = open(talker_, talker_.dictation({recorded(kRecordings[0])}).take());
  const std::span<const int32_t> ids = state->prompt_ids();
  EXPECT_EQ(std::vector(ids.begin(), ids.begin() + 4),
            (std::vector<int32_t>{c.end, c.audio_dialogue, c.user, c.speech}));
  EXPECT_EQ(std::vector(ids.end() - 2, ids.end()), (std::vector<int32_t>{c.user, c.text}));
  EXPECT_EQ(std::ssize(ids), 4 + std::ssize(golden_frames(kRecordings[0])) / kStreams + 8 + 2);
}

TEST_F(OpusLmHearing, AVoiceOfARecordingIsWhatIsHeard) {
  const VoiceEncoder* voices = model_.voice_encoder();
  ASSERT_NE(voices, nullptr);
  const auto encoding = voices->open(*recorded(20111));
  fixture::Bench bench(1);
  VoiceEncoding* const batch[] = {encoding.get()};
  int pieces = 0;
  for (; !encoding->done(); ++pieces) voices->run(bench.ctx, batch);
  EXPECT_GT(pieces, 12) << "others wait for one";
  Voice voice = encoding->take();
  EXPECT_EQ(voice.family, kFamily);
  EXPECT_EQ(ints(*voice.find("codes")), golden_frames(20111));
  SpeechRequest r;
  r.say.text = "hello";
  r.voice.data = std::make_shared<Voice>(std::move(voice));
  EXPECT_TRUE(model_.open(r).ok());
}

TEST_F(OpusLmHearing, OtherRatesAreResampled) {
  const auto opened = model_.open(model_.dictation({recorded(24000, 24000)}).take());
  ASSERT_TRUE(opened.ok());
  const auto& state = static_cast<const Answer&>(opened.value().sequence());
  EXPECT_EQ(state.heard().front().samples, 16000);
  EXPECT_EQ(state.heard().front().frames, 49);
}

TEST_F(OpusLmHearing, RefusesWhatItCannotHear) {
  const char* kAlone = R"([{"role":"user","content":[{"type":"audio"}]}])";
  EXPECT_EQ(refusal(model_, chat(kAlone, {399})).code, ErrorCode::kInvalid);
  const std::string both =
      R"([{"role":"user","content":[{"type":"audio"},{"type":"text","text":"hello"}]}])";
  EXPECT_NE(refusal(model_, chat(both, {16000})).message.find("sent alone"), std::string::npos);
  EXPECT_TRUE(talker_.open(chat(both, {16000})).ok());
  SpeechRequest read;
  read.say.text = "hello";
  read.writing.recordings = {recorded(16000)};
  EXPECT_EQ(refusal(model_, read).code, ErrorCode::kUnsupported);
  EXPECT_EQ(model_.info().hearing.seconds, 30);
  EXPECT_EQ(model_.info().hearing.dictates_s, 30);
  for (const int64_t seconds : {0, 31}) {
    EXPECT_EQ(
        check_recording(model_.voice_encoder()->info(), *recorded(seconds * 16000)).error().message,
        concat("the recording lasts ", seconds, " s; this model needs 1 s to 30 s"));
  }
}

TEST_F(OpusLmHearing, WithoutItsFilesItSaysWhatToAdd) {
  const ModelDir deaf;
  const OpusLm model({deaf.path(), "tiny"});
  EXPECT_EQ(model.info().hearing.seconds, 0);
  EXPECT_EQ(model.voice_encoder(), nullptr);
  EXPECT_NE(
      model.info().speech.no_cloning.find("put the files of espnet/xeus into the folder xeus"),
      std::string::npos);
}

TEST_F(OpusLmHearing, BadFilesAreNamedWhenTheyAreNeeded) {
  const auto fault = [](const std::string& file, const std::string& from) {
    const ModelDir dir(false, true);
    std::filesystem::copy_file(golden_path(from), dir.path(file),
                               std::filesystem::copy_options::overwrite_existing);
    const OpusLm model({dir.path(), "tiny"});
    const Error error = refusal(model, model.dictation({recorded(16000)}).take());
    EXPECT_EQ(error.code, ErrorCode::kInternal);
    return error.message;
  };
  EXPECT_NE(fault("xeus/model/xeus_checkpoint_new.pth", "checkpoint/model.pth").find("encoder."),
            std::string::npos);
  EXPECT_NE(fault("xeus/model/km_opus_lm.mdl", "cases.json").find("km_opus_lm.mdl"),
            std::string::npos);
}

}  // namespace
}  // namespace syrinx::opuslm
