// Tests what every model that writes must do (writing_models.h): the authors' ids, equal bits alone
// and in company, after a dropped cache and for recordings that come late, bounds and stop strings,
// earlier answers, refusals. Tests of what only one family does are in its folder.
#include "families/writing_models.h"

#include "families/settings_of.h"
#include "families/voice_chat/answer_checks.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/past_context.h"
#include "model/run_streams.h"
#include "model/same_steps.h"

namespace syrinx {
namespace {

/// Checks that the ids of a track's prompt and answer equal those of the golden, whose first
/// `prompt` ids are the prompt. Compares the logits of steps 0, 1, `steps` / 2 and the last, to
/// `bound` (relative).
void expect_golden_answer(Runner& runner, Track& track, const Safetensors& golden, int prompt,
                          int steps, int chunk, float bound) {
  const std::vector<int32_t> want = ints(golden.view("ids"));
  const Sequence& answer = *track.state;
  const auto prompt_ids = answer.prompt_ids();
  EXPECT_EQ(std::vector<int32_t>(prompt_ids.begin(), prompt_ids.end()),
            std::vector<int32_t>(want.begin(), want.begin() + prompt));
  Track* tracks[] = {&track};
  while (!track.finished) runner.step(tracks, chunk);
  const auto made = answer.history(0);
  EXPECT_EQ(std::vector<int32_t>(made.begin(), made.end()), want);
  const View logits = golden.view("logits");
  int64_t row = 0;
  for (const int step : {0, 1, steps / 2, steps - 1}) {
    ASSERT_LT(step, std::ssize(track.logits));
    EXPECT_LT(relative(track.logits[step], floats(logits.slice(row, row + 1))), bound) << step;
    ++row;
  }
}

class WritingModels : public testing::TestWithParam<WritingModel> {
 protected:
  WritingModels() {
    // The runner has one cache: of models with several, the one that writes runs alone.
    for (WrittenCase& c : cases_)
      if (nodes_with_caches() > 1) c.request.writing.text_only = true;
  }
  int nodes_with_caches() const {
    return static_cast<int>(
        std::ranges::count_if(model_->graph().nodes(), [](const Node& node) { return node.ar; }));
  }
  OpenTrack hears() const {
    return
        [this](Runner& runner, const SpeechRequest& r) { return hear(*model_, runner, fresh(r)); };
  }
  bool chats() const { return GetParam().controls[0] != 0; }
  /// Returns whether messages may contain recordings, texts and earlier answers.
  bool hears_in_chats() const { return chats() && info_.hearing.seconds > 0 && info_.converses; }
  /// Returns a request for a text that answers a user's message.
  SpeechRequest chat(const nlohmann::ordered_json& content, const char* role = "user") const {
    SpeechRequest r = chat_of({{{"role", role}, {"content", content}}});
    r.voice = cases_[0].request.voice;
    r.writing.text_only = true;
    return r;
  }
  Track run(const SpeechRequest& request, int most = 400) const {
    Runner runner(*model_);
    Track track = hear(*model_, runner, fresh(request));
    for (int i = 0; i < most && !track.finished; ++i) runner.step(track);
    return track;
  }
  int steps_of(const Track& track) const {
    return static_cast<int>(track.codes.size() / model_->graph().ar().traits().vocab.size());
  }

  const std::shared_ptr<const Pipeline> model_ = load_writing(GetParam());
  const PipelineInfo& info_ = model_->info();
  std::vector<WrittenCase> cases_ = GetParam().cases(GetParam(), *model_);
};

TEST_P(WritingModels, IdsAndLogitsAreTheAuthors) {
  if (GetParam().logits == 0) return;
  for (const WrittenCase& c : cases_) {
    SCOPED_TRACE(c.name);
    const Safetensors file(golden_path(GetParam(), c.name + ".safetensors"));
    for (const int chunk : {1 << 20, 7}) {
      Runner runner(*model_);
      Track track = hear(*model_, runner, c.request);
      expect_golden_answer(runner, track, file, c.json["prompt"], c.json["steps"], chunk,
                           GetParam().logits);
    }
  }
}

TEST_P(WritingModels, PromptsOfConversationsAreTheAuthors) {
  const std::string file = golden_path(GetParam(), "prompts.json");
  if (!is_file(file)) return;  // only some models have cases with tools and earlier answers
  const auto cases = nlohmann::ordered_json::parse(read_file(file, 1 << 20));
  ASSERT_FALSE(cases.empty());
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    SpeechRequest request;
    request.voice = cases_[0].request.voice;
    request.writing.chat = std::make_shared<Chat>(Chat{c["messages"].dump(), c.value("tools", "")});
    request.writing.text_only = !c.value("speaks", true);
    for (const auto& each : c.value("answers", nlohmann::ordered_json::array())) {
      EarlierAnswer answer{std::make_shared<const std::vector<int32_t>>(each["ids"])};
      if (each.contains("heard_s")) answer.heard_s = each["heard_s"].get<double>();
      request.writing.answers.push_back(std::move(answer));
    }
    const auto opened = model_->open(request);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const auto ids = opened.value().sequence().prompt_ids();
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), c["ids"].get<std::vector<int32_t>>());
  }
}

TEST_P(WritingModels, TheSameBitsAloneAndInCompany) {
  std::vector<SpeechRequest> requests;
  for (const WrittenCase& c : cases_) {
    requests.push_back(c.request);
    if (c.request.task) continue;
    requests.push_back(c.request);
    if (info_.speaks && info_.converses) requests.back().writing.text_only ^= true;
    requests.back().sampling.temperature = 0.8f, requests.back().sampling.top_k = 7;
  }
  if (info_.speaks && nodes_with_caches() == 1) {
    requests.emplace_back().say.text = "Hello there, how are you?";
    requests.back().voice = cases_[0].request.voice;
  }
  expect_same_alone_and_in_a_batch(
      *model_, requests, [](size_t) { return 1; }, hears());
}

TEST_P(WritingModels, ADroppedCacheIsMadeAgain) {
  for (const WrittenCase& c : cases_)
    expect_a_dropped_cache_made_again(*model_, c.request, hears());
}

TEST_P(WritingModels, RecordingsMayComeRowByRow) {
  const Graph& graph = model_->graph();
  for (const WrittenCase& c : cases_) {
    Opened opened = model_->open(fresh(c.request)).take();
    if (opened.samples.empty()) continue;
    SCOPED_TRACE(c.name);
    Runner runner(*model_);
    const std::vector<float> rows = heard_rows(runner.context(), graph, opened);
    Track late;
    late.state = opened.only();
    const int first = late.state->known_rows();
    std::vector<uint64_t> keys;
    late.state->prefix_keys(false, keys);
    if (std::ssize(keys) != late.state->prompt_rows()) {
      EXPECT_LE(std::ssize(keys), first) << "recordings have no keys";
    }
    const auto width = static_cast<size_t>(graph.node(0).chunk->out_width());
    int known = first;
    for (size_t at = 0; at < rows.size(); at += width) {
      ASSERT_FALSE(late.state->ready());
      ASSERT_GE(late.state->known_rows(), known);
      known = late.state->known_rows();
      const bool last = at + width == rows.size();
      ASSERT_TRUE(take_rows(graph, *late.state, std::span(rows).subspan(at, width), last).ok());
    }
    EXPECT_TRUE(late.state->ready());
    for (int step = 0; step < 5; ++step) runner.step(late);
    EXPECT_TRUE(std::ranges::equal(late.logits, run(c.request, 5).logits, same_bits));
  }
}

TEST_P(WritingModels, AnswersEndAtTheirBounds) {
  for (const WrittenCase& c : cases_) {
    if (c.request.task && model_->info().family != "qwen3_asr") continue;
    SCOPED_TRACE(c.name);
    SpeechRequest r = c.request;
    r.writing.text_only = r.terms.ignore_stop = true;
    r.writing.max_tokens = 3;
    const Track track = run(r, 20);
    EXPECT_TRUE(track.finished);
    EXPECT_FALSE(track.ended);
    EXPECT_EQ(steps_of(track), 3);
    EXPECT_TRUE(track.frames.empty());
    r.writing.max_tokens = 0;
    const auto free = open_only(*model_, r);
    EXPECT_LE(free->prompt_rows() + free->max_steps(), model_->graph().ar().traits().max_positions);
  }
}

TEST_P(WritingModels, AStopStringEndsTheAnswer) {
  int stopped = 0, answers = 0;
  for (const WrittenCase& c : cases_) {
    if (c.request.task && model_->info().family != "qwen3_asr") continue;
    ++answers;
    SCOPED_TRACE(c.name);
    SpeechRequest r = c.request;
    r.writing.text_only = true;
    const std::string whole = run(r).text;
    size_t at = whole.size() / 3;
    while (at < whole.size() && static_cast<unsigned char>(whole[at] - '!') > '~' - '!') ++at;
    if (at == whole.size()) continue;  // no plain character
    r.writing.stop = {whole.substr(at, 1)};
    const Track track = run(r);
    EXPECT_EQ(track.text, whole.substr(0, whole.find(r.writing.stop[0])));
    EXPECT_TRUE(track.ended);
    ++stopped;
  }
  EXPECT_TRUE(stopped > 0 || answers == 0) << "no answer has a plain character";
}

/// A spoken answer reports all its ids for later prompts, a written one none.
TEST_P(WritingModels, AnswersComeBackAsTheyWereMade) {
  EXPECT_EQ(info_.writing.recalls, is_file(golden_path(GetParam(), "prompts.json")));
  for (const WrittenCase& c : cases_) {
    if (!info_.writing.recalls || c.request.writing.text_only) continue;
    const Track track = run(c.request);
    const auto made = made_of(track);
    EXPECT_EQ(track.answer_ids, std::vector<int32_t>(made.begin(), made.end())) << c.name;
    SpeechRequest written = c.request;
    written.writing.text_only = true;
    EXPECT_TRUE(run(written).answer_ids.empty()) << c.name;
  }
}

/// A control token is one id, its characters as text are several.
TEST_P(WritingModels, ControlTokensOfClientsArePlainText) {
  if (!chats()) return;
  const int one = open_only(*model_, chat("x"))->prompt_rows();
  std::istringstream all(GetParam().controls);
  for (std::string control; all >> control;)
    EXPECT_GE(open_only(*model_, chat(control))->prompt_rows(), one + 2) << control;
}

TEST_P(WritingModels, DrawAsTheAuthorsDo) {
  SpeechRequest r = chats() ? chat("x") : cases_[0].request;
  if (!r.task) r.sampling = {};
  EXPECT_EQ(settings_of(open_only(*model_, r)->sampling(0)), GetParam().draws);
}

TEST_P(WritingModels, RecordingsAreResampledAsTheAuthorsDo) {
  EXPECT_EQ(info_.hearing.first_channel, GetParam().first_channel);
  if (!GetParam().resampling) return;
  int compared = 0;
  for (const WrittenCase& c : cases_) {
    if (c.request.writing.recordings.size() != 1) continue;
    SpeechRequest r = c.request;
    auto other = std::make_shared<Recording>(*r.writing.recordings[0]);
    other->sample_rate = 44100;
    r.writing.recordings = {other};
    const Opened opened = model_->open(r).take();
    const std::vector<float> want = resampled(other->samples, 44100, 16000, *GetParam().resampling);
    ASSERT_GE(opened.samples.size(), want.size());
    EXPECT_TRUE(std::equal(want.begin(), want.end(), opened.samples.begin()));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(WritingModels, RefuseWhatTheyCannotAnswer) {
  const auto refused = [&](const SpeechRequest& r) { return refusal_of(*model_, r).param; };
  SpeechRequest blank;
  blank.voice = cases_[0].request.voice;
  if (info_.family != "llm") {
    EXPECT_NE(refused(blank), "") << "no text, no chat, no task";
  }
  SpeechRequest foreign = cases_[0].request;
  foreign.task = std::make_shared<FamilyTask>("another");
  EXPECT_EQ(refused(foreign), "task");
  if (!chats()) return;
  SpeechRequest r = chat("x");
  EXPECT_TRUE(model_->open(r).ok());
  r.writing.stop = {""};
  EXPECT_EQ(refused(r), "stop");
  EXPECT_TRUE(is_past_context(refusal_of(*model_, chat(std::string(100'000, '1')))));
  for (const char* messages : {"{}", "[3]"}) {
    r = chat("x");
    r.writing.chat = std::make_shared<Chat>(Chat{messages, "", {}});
    EXPECT_EQ(refused(r), "messages") << messages;
  }
  const auto recordings = [&](const nlohmann::ordered_json& content, int64_t samples) {
    r = chat(content);
    r.writing.recordings = {golden_recording(samples, 7)};
    return refusal_of(*model_, r).message;
  };
  const auto part = [](const char* type) {
    return nlohmann::ordered_json::array({{{"type", type}}});
  };
  EXPECT_NE(recordings("x", 16000), "") << "no place for the recording";
  if (GetParam().templated) return;
  EXPECT_EQ(recordings("x", 16000),
            "the request has more recordings than the chat has places for them");
  EXPECT_EQ(refusal_of(*model_, chat(part("audio"))).message,
            "the chat has more places for recordings than the request has recordings");
  EXPECT_TRUE(recordings(part("audio"), 0).starts_with("recording 1 "));
  EXPECT_TRUE(recordings(part("audio"), 400 * 16000).starts_with("the recordings last 400 s"));
  EXPECT_EQ(refused(chat(part("image"))), "messages");
  EXPECT_EQ(refused(chat("x", "cook")), "messages");
  EXPECT_EQ(refused(chat(1)), "messages");
  r = chat(part("audio"), "assistant");
  r.writing.recordings = {golden_recording(16000, 7)};
  EXPECT_EQ(refused(r), "messages") << "only users are heard";
}

INSTANTIATE_TEST_SUITE_P(All, WritingModels, testing::ValuesIn(kWritingModels), writing_name);

}  // namespace
}  // namespace syrinx
