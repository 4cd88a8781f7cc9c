// Tests the C API as a program in C uses it, with the built-in voice and small random models.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "audio/wav_file.h"
#include "io/test_dir.h"
#include "library/fault.h"
#include "library/syrinx.h"

namespace {

using Model = std::unique_ptr<syrinx_model, decltype(&syrinx_unload)>;
using Speech = std::unique_ptr<syrinx_speech, decltype(&syrinx_close)>;
using Voice = std::unique_ptr<syrinx_voice, decltype(&syrinx_free_voice)>;

constexpr const char* kText = "One two three four.";

struct Heard {
  std::vector<float> samples;
  std::vector<syrinx_word> words;
  int calls = 0;
  int stop_after = 1 << 30;
};

void add(Heard& heard, const syrinx_chunk& chunk) {
  EXPECT_EQ(chunk.begin_s, static_cast<double>(heard.samples.size()) / chunk.sample_rate);
  heard.samples.insert(heard.samples.end(), chunk.samples, chunk.samples + chunk.count);
  heard.words.insert(heard.words.end(), chunk.words, chunk.words + chunk.word_count);
}

int hear(void* user, const syrinx_chunk* chunk) {
  auto& heard = *static_cast<Heard*>(user);
  add(heard, *chunk);
  return ++heard.calls >= heard.stop_after ? 1 : 0;
}

/// Reads to the end and returns the final code.
int read_all(syrinx_speech* speech, Heard& heard) {
  syrinx_error error;
  while (const syrinx_chunk* chunk = syrinx_read(speech, 60, &error)) add(heard, *chunk);
  return error.code;
}

std::string small_model(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/" + name + "/checkpoint";
}

class Library : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    syrinx_load_options options = syrinx_load_defaults();
    options.threads = 2;
    finch_ = syrinx_load("finch", &options, nullptr);
  }
  static void TearDownTestSuite() {
    syrinx_unload(finch_);
    finch_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(finch_, nullptr); }

  Speech open(const char* text, const syrinx_speech_options& options) {
    return {syrinx_open(finch_, text, &options, &error_), &syrinx_close};
  }
  Heard speak(const char* text, const syrinx_speech_options& options) {
    Heard heard;
    EXPECT_EQ(syrinx_speak(finch_, text, &options, hear, &heard, &error_), SYRINX_OK)
        << error_.message;
    return heard;
  }

  static syrinx_model* finch_;
  syrinx_error error_{};
};
syrinx_model* Library::finch_ = nullptr;

TEST_F(Library, DescribesTheModel) {
  EXPECT_STREQ(syrinx_model_name(finch_), "finch");
  EXPECT_STREQ(syrinx_model_family(finch_), "finch");
  EXPECT_EQ(syrinx_sample_rate(finch_), 24000);
  EXPECT_TRUE(syrinx_traits(finch_) & SYRINX_TELLS_WORDS);
  EXPECT_FALSE(syrinx_traits(finch_) & SYRINX_CLONES);
  EXPECT_STREQ(syrinx_voice_name(finch_, 0), "finch");
  EXPECT_NE(syrinx_voice_description(finch_, 6), nullptr);
  EXPECT_EQ(syrinx_voice_name(finch_, 7), nullptr);
  EXPECT_EQ(syrinx_language_name(finch_, 100), nullptr);
}

TEST_F(Library, SpeaksInChunksWithWords) {
  const Heard heard = speak(kText, syrinx_speech_defaults());
  EXPECT_GT(heard.samples.size(), 8000u);
  ASSERT_EQ(heard.words.size(), 4u);
  EXPECT_EQ(std::string(kText).substr(heard.words[1].begin, 3), "two");
  for (size_t i = 1; i < 4; ++i) EXPECT_GT(heard.words[i].at_s, heard.words[i - 1].at_s);
  EXPECT_LT(heard.words[3].at_s, static_cast<double>(heard.samples.size()) / 24000);
}

TEST_F(Library, ReadingYieldsWhatTheCallbackGets) {
  Heard read;
  const Speech speech = open(kText, syrinx_speech_defaults());
  ASSERT_TRUE(speech);
  EXPECT_EQ(syrinx_outcome_of(speech.get()), nullptr);
  EXPECT_EQ(read_all(speech.get(), read), SYRINX_OK);
  const syrinx_outcome* outcome = syrinx_outcome_of(speech.get());
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->end, SYRINX_END_OF_TEXT);
  EXPECT_NEAR(outcome->audio_s * 24000, static_cast<double>(read.samples.size()), 0.5);
  EXPECT_GT(outcome->first_audio_s, 0);
  EXPECT_LE(outcome->first_audio_s, outcome->total_s);
  EXPECT_EQ(syrinx_read(speech.get(), -1, &error_), nullptr);  // reports the end again
  EXPECT_EQ(error_.code, SYRINX_OK);
  EXPECT_EQ(speak(kText, syrinx_speech_defaults()).samples, read.samples);
}

TEST_F(Library, ManyThreadsSpeakTheSameAsOne) {
  const Heard alone = speak(kText, syrinx_speech_defaults());
  std::vector<Heard> heard(6);
  std::vector<std::thread> threads;
  for (Heard& each : heard) {
    threads.emplace_back([&each] { syrinx_speak(finch_, kText, nullptr, hear, &each, nullptr); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Heard& each : heard) EXPECT_EQ(each.samples, alone.samples);
}

TEST_F(Library, TextComesInPieces) {
  auto options = syrinx_speech_defaults();
  options.voice = "raven";
  const Heard whole = speak(kText, options);
  options.text_open = 1;
  const Speech speech = open("One ", options);
  ASSERT_TRUE(speech);
  EXPECT_EQ(syrinx_feed(speech.get(), "two thr", 0, nullptr), SYRINX_OK);
  EXPECT_EQ(syrinx_feed(speech.get(), "ee four.", 1, nullptr), SYRINX_OK);
  EXPECT_EQ(syrinx_feed(speech.get(), "five", 0, &error_), SYRINX_INVALID);
  Heard heard;
  EXPECT_EQ(read_all(speech.get(), heard), SYRINX_OK);
  // Late text changes the speech slightly.
  EXPECT_NEAR(static_cast<double>(heard.samples.size()) / whole.samples.size(), 1, 0.4);
  ASSERT_EQ(heard.words.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(heard.words[i].begin, whole.words[i].begin);
    EXPECT_EQ(heard.words[i].end, whole.words[i].end);
  }
}

TEST_F(Library, WaitsNoLongerThanItsTimeout) {
  auto options = syrinx_speech_defaults();
  options.text_open = 1;
  const Speech speech = open("", options);
  ASSERT_TRUE(speech);
  EXPECT_EQ(syrinx_read(speech.get(), 0, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_TIMEOUT);
  EXPECT_EQ(syrinx_read(speech.get(), 0.05, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_TIMEOUT);
}

TEST_F(Library, TheDescriptorIsReadableWhenThereIsSomethingToRead) {
  auto options = syrinx_speech_defaults();
  options.text_open = 1;
  const Speech speech = open("", options);
  ASSERT_TRUE(speech);
  pollfd watch{.fd = syrinx_fd(speech.get()), .events = POLLIN, .revents = 0};
  ASSERT_GE(watch.fd, 0);
  EXPECT_EQ(syrinx_fd(speech.get()), watch.fd);
  EXPECT_EQ(poll(&watch, 1, 50), 0);
  syrinx_feed(speech.get(), kText, 1, nullptr);
  Heard heard;
  do {
    ASSERT_EQ(poll(&watch, 1, 60'000), 1);
    while (const syrinx_chunk* chunk = syrinx_read(speech.get(), 0, &error_)) add(heard, *chunk);
  } while (error_.code == SYRINX_TIMEOUT);
  EXPECT_EQ(error_.code, SYRINX_OK);
  EXPECT_GT(heard.samples.size(), 8000u);
  EXPECT_EQ(heard.words.size(), 4u);
  EXPECT_EQ(poll(&watch, 1, 0), 1);  // remains readable at the end
}

TEST_F(Library, CancelledFromAnotherThread) {
  auto options = syrinx_speech_defaults();
  options.text_open = 1;
  const Speech speech = open("This has no end ", options);
  ASSERT_TRUE(speech);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    syrinx_cancel(speech.get());
  });
  Heard heard;
  EXPECT_EQ(read_all(speech.get(), heard), SYRINX_CANCELLED);
  other.join();
  EXPECT_EQ(syrinx_outcome_of(speech.get())->end, SYRINX_END_EARLY);
  EXPECT_EQ(syrinx_feed(speech.get(), "more", 1, nullptr), SYRINX_OK);  // accepted but not spoken
}

TEST_F(Library, ACallbackEndsItsSpeech) {
  Heard heard;
  heard.stop_after = 1;
  EXPECT_EQ(syrinx_speak(finch_, kText, nullptr, hear, &heard, &error_), SYRINX_CANCELLED);
  EXPECT_EQ(heard.calls, 1);
  const auto throws = [](void*, const syrinx_chunk*) -> int { throw std::runtime_error("mine"); };
  EXPECT_EQ(syrinx_speak(finch_, kText, nullptr, throws, nullptr, &error_), SYRINX_INTERNAL);
  EXPECT_STREQ(error_.message, "mine");
  speak(kText, syrinx_speech_defaults());  // other requests continue
}

TEST_F(Library, SpeedsThatTheModelHasNotAreStretched) {
  auto options = syrinx_speech_defaults();
  const Heard plain = speak(kText, options);
  options.speed = 4;
  const Heard fast = speak(kText, options);
  const double ratio = static_cast<double>(plain.samples.size()) / fast.samples.size();
  EXPECT_GT(ratio, 3);
  EXPECT_LT(ratio, 5);
  ASSERT_EQ(fast.words.size(), 4u);
  EXPECT_LT(fast.words[3].at_s, static_cast<double>(fast.samples.size()) / 24000);
}

TEST_F(Library, FaultsHaveACodeAndAMessage) {
  const auto refused = [this](const char* text, const syrinx_speech_options& options) {
    const int code = syrinx_speak(finch_, text, &options, hear, nullptr, &error_);
    EXPECT_EQ(code, error_.code);
    EXPECT_NE(error_.message[0], '\0');
    return code;
  };
  auto options = syrinx_speech_defaults();
  options.voice = "nightingale";
  EXPECT_EQ(refused(kText, options), SYRINX_NOT_FOUND);
  EXPECT_NE(std::strstr(error_.message, "curlew"), nullptr) << error_.message;
  options = syrinx_speech_defaults();
  options.speed = 5;
  EXPECT_EQ(refused(kText, options), SYRINX_INVALID);
  options = syrinx_speech_defaults();
  options.text_open = 1;
  EXPECT_EQ(refused(kText, options), SYRINX_INVALID);
  options = {};
  EXPECT_EQ(refused(kText, options), SYRINX_INVALID);
  EXPECT_EQ(refused(nullptr, syrinx_speech_defaults()), SYRINX_INVALID);
  EXPECT_EQ(syrinx_speak(nullptr, kText, nullptr, hear, nullptr, &error_), SYRINX_INVALID);
  EXPECT_EQ(syrinx_speak(finch_, kText, nullptr, nullptr, nullptr, &error_), SYRINX_INVALID);
  EXPECT_EQ(syrinx_read(nullptr, 0, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_INVALID);
  const float sample = 0;
  EXPECT_EQ(syrinx_learn_voice(finch_, &sample, 1, 16000, nullptr, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_UNSUPPORTED);
  EXPECT_EQ(syrinx_load("/nowhere/at/all", nullptr, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_LOAD);
  EXPECT_NE(std::strstr(error_.message, "/nowhere/at/all"), nullptr) << error_.message;
  EXPECT_EQ(syrinx_open_voice("/nowhere", &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_LOAD);
}

TEST_F(Library, MoreOptionsAreThoseOfTheTable) {
  auto options = syrinx_speech_defaults();
  options.seed = 7;
  options.temperature = 0.9f;
  const Heard fields = speak(kText, options);
  const char* const more[] = {"seed", "7", "temperature", "0.9", nullptr};
  options = syrinx_speech_defaults();
  options.more = more;
  EXPECT_EQ(speak(kText, options).samples, fields.samples);
  const auto refused = [this](const std::vector<const char*>& list) {
    auto wrong = syrinx_speech_defaults();
    wrong.more = list.data();
    EXPECT_NE(syrinx_speak(finch_, kText, &wrong, hear, nullptr, &error_), SYRINX_OK);
    return std::string(error_.message);
  };
  EXPECT_EQ(refused({"loudness", "1", nullptr}), "unknown option 'loudness'");
  EXPECT_EQ(refused({"top_k", nullptr}), "the option 'top_k' has no value");
  EXPECT_EQ(refused({"speed", "2", nullptr}), "'speed' is a field of syrinx_speech_options");
  EXPECT_NE(refused({"exaggeration", "1", nullptr}).find("does not support 'exaggeration'"),
            std::string::npos);
  EXPECT_EQ(error_.code, SYRINX_UNSUPPORTED);
  EXPECT_NE(refused({"top_p", "2", nullptr}).find("'top_p' must be between 0 and 1"),
            std::string::npos);
  EXPECT_EQ(error_.code, SYRINX_INVALID);
}

TEST_F(Library, AnOlderProgramsOptionsAreShorter) {
  struct {
    size_t size = 2 * sizeof(void*);
    const char* voice = "raven";
  } older;
  auto options = syrinx_speech_defaults();
  options.voice = "raven";
  const Heard today = speak(kText, options);
  Heard heard;
  EXPECT_EQ(syrinx_speak(finch_, kText, reinterpret_cast<const syrinx_speech_options*>(&older),
                         hear, &heard, &error_),
            SYRINX_OK);
  EXPECT_EQ(heard.samples, today.samples);
}

TEST_F(Library, AModelMayGoBeforeItsSpeeches) {
  auto options = syrinx_load_defaults();
  options.beside = finch_;
  Model other(syrinx_load("finch", &options, &error_), &syrinx_unload);
  ASSERT_TRUE(other) << error_.message;
  const Speech speech(syrinx_open(other.get(), kText, nullptr, nullptr), &syrinx_close);
  other.reset();
  Heard heard;
  EXPECT_EQ(read_all(speech.get(), heard), SYRINX_OK);
  EXPECT_EQ(heard.samples, speak(kText, syrinx_speech_defaults()).samples);
}

TEST_F(Library, AVoiceIsLearntKeptAndSpokenWith) {
  auto load = syrinx_load_defaults();
  load.beside = finch_;
  const Model csm(syrinx_load(small_model("csm/golden/taught").c_str(), &load, &error_),
                  &syrinx_unload);
  ASSERT_TRUE(csm) << error_.message;
  EXPECT_TRUE(syrinx_traits(csm.get()) & SYRINX_CLONES);
  const syrinx::Wav wav = syrinx::read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav");
  const Voice learnt(syrinx_learn_voice(csm.get(), wav.samples.data(), wav.samples.size(),
                                        static_cast<int>(wav.rate), "Hello there.", &error_),
                     &syrinx_free_voice);
  ASSERT_TRUE(learnt) << error_.message;
  const syrinx::TestDir dir;
  const std::string path = dir.path("voice.safetensors");
  ASSERT_EQ(syrinx_save_voice(learnt.get(), path.c_str(), "a test", &error_), SYRINX_OK);
  const Voice read(syrinx_open_voice(path.c_str(), &error_), &syrinx_free_voice);
  ASSERT_TRUE(read) << error_.message;
  const Voice of_file(
      syrinx_learn_voice_file(csm.get(), SYRINX_BINARY_DIR "/parity/mimi/speech.wav",
                              "Hello there.", &error_),
      &syrinx_free_voice);
  ASSERT_TRUE(of_file) << error_.message;
  auto options = syrinx_speech_defaults();
  options.max_s = 0.4;
  std::vector<Heard> heard;
  for (const syrinx_voice* voice : {learnt.get(), read.get(), of_file.get()}) {
    options.learned = voice;
    EXPECT_EQ(syrinx_speak(csm.get(), "Hi.", &options, hear, &heard.emplace_back(), &error_),
              SYRINX_OK)
        << error_.message;
    EXPECT_FALSE(heard.back().samples.empty());
    EXPECT_EQ(heard.back().samples, heard.front().samples);
  }
  options.voice = "0";
  EXPECT_EQ(syrinx_speak(csm.get(), "Hi.", &options, hear, nullptr, &error_), SYRINX_INVALID);
  const float broken[] = {0, 0.f / 0.f};
  EXPECT_EQ(syrinx_learn_voice(csm.get(), broken, 2, 24000, nullptr, &error_), nullptr);
  EXPECT_EQ(error_.code, SYRINX_INVALID);
}

TEST_F(Library, TextIsGatheredForAModelThatWantsAllOfIt) {
  auto load = syrinx_load_defaults();
  load.beside = finch_;
  const Model whole(syrinx_load(small_model("chatterbox/golden").c_str(), &load, &error_),
                    &syrinx_unload);
  ASSERT_TRUE(whole) << error_.message;
  EXPECT_FALSE(syrinx_traits(whole.get()) & SYRINX_HEARS_LATE_TEXT);
  auto options = syrinx_speech_defaults();
  options.max_s = 0.4;
  Heard at_once, gathered, nothing;
  ASSERT_EQ(syrinx_speak(whole.get(), "Hello.", &options, hear, &at_once, &error_), SYRINX_OK)
      << error_.message;
  options.text_open = 1;
  const Speech speech(syrinx_open(whole.get(), "Hel", &options, &error_), &syrinx_close);
  ASSERT_TRUE(speech) << error_.message;
  EXPECT_EQ(syrinx_feed(speech.get(), "lo.", 1, &error_), SYRINX_OK) << error_.message;
  EXPECT_EQ(read_all(speech.get(), gathered), SYRINX_OK);
  EXPECT_EQ(gathered.samples, at_once.samples);
  const Speech dropped(syrinx_open(whole.get(), "Hel", &options, &error_), &syrinx_close);
  EXPECT_EQ(syrinx_feed(dropped.get(), std::string(1 << 20, 'a').c_str(), 0, &error_),
            SYRINX_INVALID);
  syrinx_cancel(dropped.get());
  EXPECT_EQ(read_all(dropped.get(), nothing), SYRINX_CANCELLED);
}

TEST(LibraryFault, ALongMessageIsCutBetweenCharacters) {
  syrinx_error error;
  syrinx::report(&error, SYRINX_LOAD, "a" + std::string(300, '\xC3') + "x");
  EXPECT_EQ(std::strlen(error.message), 302u);
  std::string umlauts = "a";
  for (int i = 0; i < 400; ++i) umlauts += "\xC3\xA4";
  syrinx::report(&error, SYRINX_LOAD, umlauts);
  EXPECT_EQ(std::strlen(error.message), sizeof error.message - 1);
  syrinx::report(&error, SYRINX_LOAD, "b" + umlauts);
  EXPECT_EQ(std::strlen(error.message), sizeof error.message - 2);
  EXPECT_EQ(std::string(error.message).substr(492), "\xC3\xA4");
}

}  // namespace
