// Compares GLM-4-Voice's text, prompts and language model with tiktoken and transformers
// (tests/parity/glm4_voice). Also tests refused requests. tests/parity/glm4_voice/engine_test.cc
// compares the output of the engine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "audio/resampler.h"
#include "codec/qwen3_audio_fixture.h"
#include "families/checkpoint_copy.h"
#include "families/glm4_voice/answer.h"
#include "families/glm4_voice/pipeline.h"
#include "families/llm/prompt_cases.h"
#include "families/voice_chat/answer_checks.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::glm4_voice {
namespace {

using nlohmann::ordered_json;

std::string golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/glm4_voice/golden/" + name;
}

const std::shared_ptr<const Pipeline>& model() {
  static const auto loaded =
      load_as<Glm4Voice>({golden("checkpoint"), "glm", WeightType::kF32, false, Device::kCpu});
  return loaded;
}

ordered_json cases() { return ordered_json::parse(read_file(golden("cases.json"), 1 << 20)); }

std::shared_ptr<const Recording> recording(int64_t samples, uint32_t seed) {
  auto out = std::make_shared<Recording>();
  out->samples = fixture::golden_signal(samples, seed);
  out->sample_rate = 16000;
  return out;
}

SpeechRequest chat_of(const ordered_json& messages) {
  SpeechRequest request;
  request.writing.chat = std::make_shared<Chat>(Chat{messages.dump(), ""});
  request.sampling.temperature = 0.f;
  return request;
}

SpeechRequest request_of(const ordered_json& c) {
  SpeechRequest request = chat_of(c["messages"]);
  uint32_t seed = 7;
  for (const int64_t samples : c["recordings"])
    request.writing.recordings.push_back(recording(samples, seed++));
  request.writing.max_tokens = c["steps"];
  return request;
}

TEST(GlmText, IdsAreTiktokens) {
  const Tokenizer tokenizer = load_tokenizer(golden("checkpoint"));
  const Safetensors file(golden("ids.safetensors"));
  const std::string plain = "Hello there, how are you? aaaaaaaa   12345 it's\n\n 你好，今天 naïve";
  const std::string special = "<|user|>\nThis <|audio_7|><|end_of_audio|>streaming_transcription\n";
  EXPECT_EQ(tokenizer.encode(plain), ints(file.view("plain")));
  EXPECT_EQ(tokenizer.encode(plain, false), ints(file.view("plain.plain")));
  EXPECT_EQ(tokenizer.encode(special), ints(file.view("special")));
  EXPECT_EQ(tokenizer.encode(special, false), ints(file.view("special.plain")));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(plain)), plain);
}

/// Compares prompt, logits and greedy ids. The prompt runs whole or in parts. The codes of
/// recordings come from the goldens' prompts.
TEST(GlmParity, AnswersAreTransformers) {
  const ordered_json all = cases();
  for (const auto& [name, c] : all.items()) {
    SCOPED_TRACE(name);
    const Safetensors file(golden(name + ".safetensors"));
    const std::vector<int32_t> want = ints(file.view("ids"));
    const int prompt = c["prompt"], steps = c["steps"];
    for (const int chunk : {1 << 20, 7}) {
      Runner runner(*model());
      Track track = runner.open(request_of(c));
      ASSERT_TRUE(track.state);
      auto& answer = static_cast<Answer&>(*track.state);
      const Ids ids = load_ids(load_tokenizer(golden("checkpoint")), 64);
      std::vector<float> codes;
      for (int at = 0; at < prompt; ++at)
        if (ids.is_audio(want[at])) codes.push_back(static_cast<float>(want[at] - ids.audio));
      EXPECT_EQ(answer.ready(), codes.empty());
      if (!codes.empty()) {
        ASSERT_TRUE(answer.take(Answer::kHearing,
                                {{Flow::kRows, 1}, std::ssize(codes), {}, codes, {}, true}));
      }
      expect_golden_answer(runner, track, file, prompt, steps, chunk, 2e-5f);
    }
  }
}

TEST(GlmParity, PromptsWithEarlierAnswersAreTheDemos) {
  llm::expect_prompts(*model(), golden("prompts.json"), {});
}

TEST(GlmVoice, AnswersComeBackAsTheyWereMade) {
  expect_answers_to_come_back(*model(), request_of(cases()["text"]));
}

TEST(GlmVoice, ReadsAloudInTheAuthorsRhythm) {
  Runner runner(*model());
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Do it step by step, 12345 with 678!";
  request.writing.max_tokens = 150;
  Track track = runner.open(request);
  ASSERT_TRUE(track.state);
  const Tokenizer tokenizer = load_tokenizer(golden("checkpoint"));
  const std::vector<int32_t> said = tokenizer.encode(request.say.text, false);
  ASSERT_GT(said.size(), 2u * Answer::kRuns.text);
  while (!track.finished) runner.step(track);
  const Ids ids = load_ids(tokenizer, 64);
  auto& answer = static_cast<Answer&>(*track.state);
  const auto made = answer.history(0).subspan(answer.prompt_ids().size());
  std::vector<int32_t> text;
  for (size_t i = 0; i < made.size(); ++i) {
    const bool text_turn = i % 39 < 13 && text.size() < said.size();
    if (made[i] == ids.user) {
      EXPECT_EQ(text.size(), said.size());
      EXPECT_EQ(i + 1, made.size());
      continue;
    }
    EXPECT_EQ(!ids.is_audio(made[i]), text_turn) << i;
    if (text_turn) text.push_back(made[i]);
  }
  EXPECT_EQ(text, said);
}

TEST(GlmVoice, AReadingsBoundCountsCodes) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Do it step by step, 12345 with 678!";
  const Ids ids = load_ids(load_tokenizer(golden("checkpoint")), 64);
  expect_so_many_codes(*model(), request, [&](int32_t id) { return ids.is_audio(id); });
}

/// Compares sampled ids and their probabilities with tests/parity/sampling.
TEST(GlmVoice, DrawsAsTheAuthorsDemo) {
  const auto opened = model()->open(chat_of(cases()["text"]["messages"]));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened.value().sequence().sampling(0).top_k, 50);
}

TEST(GlmVoice, TextAloneHasNoAudio) {
  Runner runner(*model());
  SpeechRequest request = request_of(cases()["text"]);
  request.writing.text_only = true;
  Track track = runner.open(request);
  ASSERT_TRUE(track.state);
  while (!track.finished) runner.step(track);
  const Ids ids = load_ids(load_tokenizer(golden("checkpoint")), 64);
  auto& answer = static_cast<Answer&>(*track.state);
  for (const int32_t id : answer.history(0).subspan(answer.prompt_ids().size()))
    EXPECT_FALSE(ids.is_audio(id));
}

TEST(GlmVoice, RecordingsAreResampledAsTheAuthorsDo) {
  SpeechRequest request = request_of(cases()["heard"]);
  request.writing.recordings = {recording(3000, 7)};
  expect_torchaudios_resampling(*model(), request);
}

TEST(GlmVoice, RefusesWhatItCannotDo) {
  SpeechRequest request = request_of(cases()["heard"]);
  request.voice.name = "glm";
  expect_chat_refusals(*model(), request, "tool");
  request.voice.name = "alloy";
  EXPECT_EQ(refusal_of(*model(), request).message, "the model has no voice \"alloy\"; it has glm");
}

/// Special tokens in a client's text are read as plain text.
TEST(GlmVoice, ClientsWriteNoSpecialTokens) {
  const auto ids_of = [&](const std::string& text, const Pipeline& asked) {
    const auto opened = asked.open(chat_of({{{"role", "user"}, {"content", text}}}));
    EXPECT_TRUE(opened.ok());
    const auto ids = opened.value().sequence().prompt_ids();
    return std::vector<int32_t>(ids.begin(), ids.end());
  };
  const Ids ids = load_ids(load_tokenizer(golden("checkpoint")), 64);
  const std::vector<int32_t> made = ids_of("<|user|><|audio_3|>", *model());
  EXPECT_EQ(std::count(made.begin(), made.end(), ids.user), 1);
  EXPECT_EQ(std::count(made.begin(), made.end(), ids.audio + 3), 0);
  // The "special" flags have no effect, because with tiktoken all added tokens are special.
  const CheckpointCopy copy(golden("checkpoint"));
  std::string config = slurp(copy.dir.path("tokenizer_config.json"));
  const std::string special = "\"special\":true";
  ASSERT_NE(config.find(special), config.npos);
  for (size_t at; (at = config.find(special)) != config.npos;)
    config.replace(at, special.size(), "\"special\":false");
  copy.dir.write("tokenizer_config.json", config);
  const auto other =
      load_as<Glm4Voice>({copy.dir.path(), "glm", WeightType::kF32, false, Device::kCpu});
  EXPECT_EQ(ids_of("<|user|><|audio_3|>", *other), made);
}

}  // namespace
}  // namespace syrinx::glm4_voice
