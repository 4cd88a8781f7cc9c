#include "model/request_bytes.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fuzzing.h"
#include "io/digest.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::shared_ptr<const Voice> a_voice(float value) {
  auto voice = std::make_shared<Voice>();
  voice->family = "toy", voice->encoder = "toy-1", voice->mode = "in-context";
  voice->text = "hello", voice->seconds = 2.5;
  Tensor speaker(Shape{2, 2}, DType::kF32), codes(Shape{3}, DType::kI32);
  for (int i = 0; i < 4; ++i) speaker.f32()[i] = value + static_cast<float>(i);
  for (int i = 0; i < 3; ++i) codes.i32()[i] = i;
  voice->tensors.emplace("speaker", std::move(speaker));
  voice->tensors.emplace("codes", std::move(codes));
  return voice;
}

/// No field is as it is by itself.
SpeechRequest full_request() {
  SpeechRequest r;
  r.text = "so it goes, Syrinx";
  r.text_open = true;
  r.sayings = {{3, 5, "id", {"ɪt", {"ih1", "t"}}, true}};
  r.deliveries = {{3, 0.5f, 2.f}};
  r.lexicon = Lexicon::both(Lexicon::parse("Syrinx /ˈsɪɹɪŋks/\nnginx engine X").take(),
                            Lexicon::parse("Nguyen {W IH1 N}").take());
  r.voice = "fox";
  r.voice_data = a_voice(1);
  r.mix = {{"fox", nullptr, 0.25f}, {"", a_voice(2), 0.75f}};
  r.speed = 1.5f, r.pitch = -2;
  r.language = "en", r.instructions = "slowly";
  r.context = {{"fox", "hello", {1, 2, 3}, a_voice(3)}};
  r.text_in_prompt = true;
  r.temperature = 0.5f, r.top_p = 0.6f, r.min_p = 0.1f, r.repetition_penalty = 1.1f;
  r.top_k = 7, r.guidance = 2.f;
  r.inner_temperature = 0.4f, r.inner_top_p = 0.3f, r.inner_top_k = 9;
  r.flow = FlowMode::kFull;
  r.offline = true;
  r.exaggeration = 1.5f;
  r.spell_numbers = false;
  r.speaker = 3;
  r.seed = 1ull << 60;
  r.max_frames = 100;
  r.ignore_stop = true, r.phone_times = true;
  auto chat = std::make_shared<Chat>();
  chat->messages = "[]", chat->tools = "[{}]", chat->thinks = false, chat->must_call = {"f", "g"};
  chat->schema = R"({"type": "object"})";
  r.chat = chat;
  r.expected = "hello";
  r.expected_among = 3, r.expected_settled = 4, r.jacobi = 5;
  r.stop = {"a", "b"};
  auto recording = std::make_shared<Recording>();
  recording->samples = {0.5f, -0.5f}, recording->sample_rate = 16000;
  recording->text = "hi", recording->mode = "x-vector";
  r.recordings = {recording};
  r.answers = {{std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{7, -1}), 0.5},
               {std::make_shared<const std::vector<int32_t>>(), {}}};
  r.text_only = true;
  r.max_tokens = 50, r.top_logprobs = 2, r.initial_chunk_frames = 6;
  r.background = true;
  r.client = 99;
  return r;
}

TEST(RequestBytes, ThereAndBack) {
  const SpeechRequest want = full_request();
  const std::string bytes = request_bytes(want).take();
  const SpeechRequest got = read_request(bytes);
  // Whatever is not written the same way again was lost.
  EXPECT_EQ(request_bytes(got).take().size(), bytes.size());
  EXPECT_EQ(got.text, want.text);
  EXPECT_TRUE(got.text_open && got.offline && got.ignore_stop && got.phone_times);
  EXPECT_TRUE(got.text_only && got.background);
  ASSERT_EQ(got.sayings.size(), 1u);
  EXPECT_EQ(got.sayings[0].words, "id");
  EXPECT_EQ(got.sayings[0].phones.arpabet, want.sayings[0].phones.arpabet);
  EXPECT_TRUE(got.sayings[0].strong);
  ASSERT_EQ(got.deliveries.size(), 1u);
  EXPECT_EQ(got.deliveries[0].rate, 0.5f);
  EXPECT_EQ(voice_hash(*got.voice_data), voice_hash(*want.voice_data));
  ASSERT_EQ(got.mix.size(), 2u);
  EXPECT_EQ(got.mix[0].voice, "fox");
  EXPECT_FALSE(got.mix[0].data);
  EXPECT_EQ(voice_hash(*got.mix[1].data), voice_hash(*want.mix[1].data));
  EXPECT_EQ(got.mix[1].weight, 0.75f);
  EXPECT_EQ(got.context[0].codes, want.context[0].codes);
  EXPECT_EQ(voice_hash(*got.context[0].recording), voice_hash(*want.context[0].recording));
  EXPECT_EQ(got.text_in_prompt, true);
  EXPECT_EQ(got.temperature, 0.5f);
  EXPECT_EQ(got.top_p, 0.6f);
  EXPECT_EQ(got.min_p, 0.1f);
  EXPECT_EQ(got.repetition_penalty, 1.1f);
  EXPECT_EQ(got.top_k, 7);
  EXPECT_EQ(got.guidance, 2.f);
  EXPECT_EQ(got.inner_temperature, 0.4f);
  EXPECT_EQ(got.inner_top_p, 0.3f);
  EXPECT_EQ(got.inner_top_k, 9);
  EXPECT_EQ(got.flow, FlowMode::kFull);
  EXPECT_EQ(got.exaggeration, 1.5f);
  EXPECT_EQ(got.spell_numbers, false);
  EXPECT_EQ(got.speaker, 3);
  EXPECT_EQ(got.seed, want.seed);
  EXPECT_EQ(got.max_frames, 100);
  EXPECT_EQ(got.chat->tools, "[{}]");
  EXPECT_EQ(got.chat->must_call, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(got.chat->schema, R"({"type": "object"})");
  EXPECT_EQ(got.chat->thinks, false);
  EXPECT_EQ(got.expected, "hello");
  EXPECT_EQ(got.expected_settled, 4u);
  EXPECT_EQ(got.stop, want.stop);
  ASSERT_EQ(got.recordings.size(), 1u);
  EXPECT_EQ(got.recordings[0]->samples, want.recordings[0]->samples);
  EXPECT_EQ(got.recordings[0]->sample_rate, 16000);
  ASSERT_EQ(got.answers.size(), 2u);
  EXPECT_EQ(*got.answers[0].ids, (std::vector<int32_t>{7, -1}));
  EXPECT_EQ(got.answers[0].heard_s, 0.5);
  EXPECT_TRUE(got.answers[1].ids->empty());
  EXPECT_FALSE(got.answers[1].heard_s);
  EXPECT_EQ(got.top_logprobs, 2);
  EXPECT_EQ(got.client, 99u);
  std::vector<Saying> here, there;
  want.lexicon->find("Syrinx and nginx met Nguyen", here);
  got.lexicon->find("Syrinx and nginx met Nguyen", there);
  ASSERT_EQ(there.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(there[i].words, here[i].words);
    EXPECT_EQ(there[i].phones.arpabet, here[i].phones.arpabet);
    EXPECT_EQ(there[i].phones.ipa, here[i].phones.ipa);
  }
}

/// Who writes other bytes gives them another version: a peer that reads the ones before would read
/// one field as the next.
TEST(RequestBytes, OtherBytesAreAnotherVersion) {
  const std::string bytes = request_bytes(full_request()).take();
  EXPECT_EQ(bytes[0], 6);
  EXPECT_EQ(sha256_hex(bytes),
            "5e672b362484ab84b2fdf52be93ebc57db8193e0a7074fb72f42817c2902af41");
}

TEST(RequestBytes, TheSmallestOne) {
  const SpeechRequest got = read_request(request_bytes({}).take());
  EXPECT_FALSE(got.voice_data || got.lexicon || got.chat || got.temperature || got.text_in_prompt);
  EXPECT_TRUE(got.recordings.empty() && got.mix.empty());
}

TEST(RequestBytes, ATaskOfTheFamilysOwnStaysHere) {
  SpeechRequest request;
  request.task = std::make_shared<FamilyTask>();
  const auto bytes = request_bytes(request);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, ErrorCode::kUnsupported);
}

TEST(RequestBytesFuzz, AnyBytesAreARequestOrAnError) {
  const std::string whole = request_bytes(full_request()).take();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW((void)read_request(std::string_view(whole).substr(0, size)), LoadError);
  }
  EXPECT_THROW((void)read_request(whole + "x"), LoadError);
  std::string other = whole;  // of another version
  ++other[0];
  EXPECT_THROW((void)read_request(other), LoadError);
  std::mt19937 random(3);
  int read = 0, refused = 0;
  for (int i = 0, most = fuzz_inputs(5000); i < most; ++i) {
    std::string bytes = whole;
    for (uint32_t n = 1 + random() % 3; n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    try {
      (void)read_request(bytes);
      ++read;
    } catch (const LoadError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace syrinx
