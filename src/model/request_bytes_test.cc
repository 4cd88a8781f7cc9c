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

/// Sets every field to a value that is not its default.
SpeechRequest full_request() {
  SpeechRequest r;
  r.say.text = "so it goes, Syrinx";
  r.say.open = true;
  r.say.sayings = {{3, 5, "id", {"ɪt", {"ih1", "t"}}, true}};
  r.say.deliveries = {{3, 0.5f, 2.f}};
  r.say.lexicon = Lexicon::both(Lexicon::parse("Syrinx /ˈsɪɹɪŋks/\nnginx engine X").take(),
                                Lexicon::parse("Nguyen {W IH1 N}").take());
  r.voice.name = "fox";
  r.voice.data = a_voice(1);
  r.voice.mix = {{"fox", nullptr, 0.25f}, {"", a_voice(2), 0.75f}};
  r.voice.speed = 1.5f, r.voice.pitch = -2;
  r.say.language = "en", r.say.instructions = "slowly";
  r.say.context = {{"fox", "hello", {1, 2, 3}, a_voice(3)}};
  r.say.in_prompt = true;
  r.sampling.temperature = 0.5f, r.sampling.top_p = 0.6f, r.sampling.min_p = 0.1f,
  r.sampling.repetition_penalty = 1.1f;
  r.sampling.top_k = 7, r.sampling.guidance = 2.f;
  r.sampling.inner_temperature = 0.4f, r.sampling.inner_top_p = 0.3f, r.sampling.inner_top_k = 9;
  r.terms.flow = FlowMode::kFull;
  r.terms.offline = true;
  r.voice.exaggeration = 1.5f;
  r.sampling.noise_scale = 0.2f, r.sampling.noise_w = 0.1f, r.voice.length_scale = 1.25f;
  r.say.spell_numbers = false;
  r.voice.speaker = 3;
  r.sampling.seed = 1ull << 60;
  r.terms.max_frames = 100;
  r.terms.ignore_stop = true, r.terms.phone_times = true;
  auto chat = std::make_shared<Chat>();
  chat->messages = "[]", chat->tools = "[{}]", chat->thinks = false, chat->must_call = {"f", "g"};
  chat->schema = R"({"type": "object"})";
  r.writing.chat = chat;
  r.writing.expected = "hello", r.writing.expected_instead = "bye";
  r.writing.expected_among = 3, r.writing.expected_settled = 4, r.writing.jacobi = 5;
  r.writing.stop = {"a", "b"};
  auto recording = std::make_shared<Recording>();
  recording->samples = {0.5f, -0.5f}, recording->sample_rate = 16000;
  recording->text = "hi", recording->mode = "x-vector";
  r.writing.recordings = {recording};
  r.writing.answers = {
      {std::make_shared<const std::vector<int32_t>>(std::vector<int32_t>{7, -1}), 0.5},
      {std::make_shared<const std::vector<int32_t>>(), {}}};
  r.writing.text_only = true;
  r.writing.max_tokens = 50, r.writing.top_logprobs = 2, r.terms.initial_chunk_frames = 6;
  r.terms.background = true;
  r.terms.client = 99;
  return r;
}

TEST(RequestBytes, ThereAndBack) {
  const SpeechRequest want = full_request();
  const std::string bytes = request_bytes(want).take();
  const SpeechRequest got = read_request(bytes);
  // If a list or a text were lost, the second bytes would have another size.
  EXPECT_EQ(request_bytes(got).take().size(), bytes.size());
  EXPECT_EQ(got.say.text, want.say.text);
  EXPECT_TRUE(got.say.open && got.terms.offline && got.terms.ignore_stop && got.terms.phone_times);
  EXPECT_TRUE(got.writing.text_only && got.terms.background);
  ASSERT_EQ(got.say.sayings.size(), 1u);
  EXPECT_EQ(got.say.sayings[0].words, "id");
  EXPECT_EQ(got.say.sayings[0].phones.arpabet, want.say.sayings[0].phones.arpabet);
  EXPECT_TRUE(got.say.sayings[0].strong);
  ASSERT_EQ(got.say.deliveries.size(), 1u);
  EXPECT_EQ(got.say.deliveries[0].rate, 0.5f);
  EXPECT_EQ(voice_hash(*got.voice.data), voice_hash(*want.voice.data));
  ASSERT_EQ(got.voice.mix.size(), 2u);
  EXPECT_EQ(got.voice.mix[0].voice, "fox");
  EXPECT_FALSE(got.voice.mix[0].data);
  EXPECT_EQ(voice_hash(*got.voice.mix[1].data), voice_hash(*want.voice.mix[1].data));
  EXPECT_EQ(got.voice.mix[1].weight, 0.75f);
  EXPECT_EQ(got.say.context[0].codes, want.say.context[0].codes);
  EXPECT_EQ(voice_hash(*got.say.context[0].recording), voice_hash(*want.say.context[0].recording));
  EXPECT_EQ(got.say.in_prompt, true);
  EXPECT_EQ(got.sampling.temperature, 0.5f);
  EXPECT_EQ(got.sampling.top_p, 0.6f);
  EXPECT_EQ(got.sampling.min_p, 0.1f);
  EXPECT_EQ(got.sampling.repetition_penalty, 1.1f);
  EXPECT_EQ(got.sampling.top_k, 7);
  EXPECT_EQ(got.sampling.guidance, 2.f);
  EXPECT_EQ(got.sampling.inner_temperature, 0.4f);
  EXPECT_EQ(got.sampling.inner_top_p, 0.3f);
  EXPECT_EQ(got.sampling.inner_top_k, 9);
  EXPECT_EQ(got.terms.flow, FlowMode::kFull);
  EXPECT_EQ(got.voice.exaggeration, 1.5f);
  EXPECT_EQ(got.sampling.noise_scale, 0.2f);
  EXPECT_EQ(got.sampling.noise_w, 0.1f);
  EXPECT_EQ(got.voice.length_scale, 1.25f);
  EXPECT_EQ(got.say.spell_numbers, false);
  EXPECT_EQ(got.voice.speaker, 3);
  EXPECT_EQ(got.sampling.seed, want.sampling.seed);
  EXPECT_EQ(got.terms.max_frames, 100);
  EXPECT_EQ(got.writing.chat->tools, "[{}]");
  EXPECT_EQ(got.writing.chat->must_call, (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(got.writing.chat->schema, R"({"type": "object"})");
  EXPECT_EQ(got.writing.chat->thinks, false);
  EXPECT_EQ(got.writing.expected, "hello");
  EXPECT_EQ(got.writing.expected_instead, "bye");
  EXPECT_EQ(got.writing.expected_settled, 4u);
  EXPECT_EQ(got.writing.stop, want.writing.stop);
  ASSERT_EQ(got.writing.recordings.size(), 1u);
  EXPECT_EQ(got.writing.recordings[0]->samples, want.writing.recordings[0]->samples);
  EXPECT_EQ(got.writing.recordings[0]->sample_rate, 16000);
  ASSERT_EQ(got.writing.answers.size(), 2u);
  EXPECT_EQ(*got.writing.answers[0].ids, (std::vector<int32_t>{7, -1}));
  EXPECT_EQ(got.writing.answers[0].heard_s, 0.5);
  EXPECT_TRUE(got.writing.answers[1].ids->empty());
  EXPECT_FALSE(got.writing.answers[1].heard_s);
  EXPECT_EQ(got.writing.top_logprobs, 2);
  EXPECT_EQ(got.terms.client, 99u);
  std::vector<Saying> here, there;
  want.say.lexicon->find("Syrinx and nginx met Nguyen", here);
  got.say.lexicon->find("Syrinx and nginx met Nguyen", there);
  ASSERT_EQ(there.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(there[i].words, here[i].words);
    EXPECT_EQ(there[i].phones.arpabet, here[i].phones.arpabet);
    EXPECT_EQ(there[i].phones.ipa, here[i].phones.ipa);
  }
}

/// If the bytes change, the version must change. Otherwise a peer with an earlier version would
/// read one field as the next one.
TEST(RequestBytes, OtherBytesAreAnotherVersion) {
  const std::string bytes = request_bytes(full_request()).take();
  const std::string fields = bytes.substr(bytes.find(full_request().say.text) - sizeof(uint32_t));
  EXPECT_EQ(sha256_hex(fields), "62dbe0dfa0d8fbe70d6fbd53d97a3023d57c0c8cc887e9cbf98285326b481cb0");
}

TEST(RequestBytes, TheSmallestOne) {
  const SpeechRequest got = read_request(request_bytes({}).take());
  EXPECT_FALSE(got.voice.data || got.say.lexicon || got.writing.chat || got.sampling.temperature ||
               got.say.in_prompt);
  EXPECT_TRUE(got.writing.recordings.empty() && got.voice.mix.empty());
}

TEST(RequestBytes, ATaskOfTheFamilysOwnStaysHere) {
  SpeechRequest request;
  request.task = std::make_shared<FamilyTask>("toy");
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
  std::string other = whole;  // bytes of another version
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
