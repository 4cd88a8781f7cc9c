// Tests a Piper voice as a family of the engine, with the goldens' networks.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/collector.h"
#include "families/piper/piper.h"
#include "families/piper/voice_fixture.h"
#include "io/test_dir.h"

namespace syrinx::piper {
namespace {

/// Loads a golden's network together with the small config.
std::shared_ptr<const Pipeline> small_voice(const std::string& network, int speakers = 1) {
  const TestDir dir;
  const std::string path = dir.path("small.onnx");
  std::filesystem::copy_file(SYRINX_BINARY_DIR "/parity/piper/golden/" + network + ".onnx", path);
  dir.write("small.onnx.json", small_json(speakers));
  return load_with({path, "small"}, say_letters);
}

struct Heard {
  std::vector<float> samples;
  std::vector<WordMark> words;
  bool operator==(const Heard& other) const { return samples == other.samples; }
};

constexpr const char* kText = "Abcd efg, hij. Klm nop abc? Ccc.";

SpeechRequest small_request(const std::string& text = kText) {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.seed = 5;
  return request;
}

Heard hear(Engine& engine, const SpeechRequest& request) {
  const auto sink = std::make_shared<Collector>();
  EXPECT_TRUE(engine.submit(request, sink).ok());
  const auto& outcome = sink->wait();
  EXPECT_EQ(outcome.reason, FinishReason::kStop);
  return {sink->samples(), outcome.words};
}

EngineOptions options_with(int threads) {
  EngineOptions options;
  options.threads = threads;
  return options;
}

TEST(Piper, AStreamHasTheBitsOfTheWhole) {
  const auto voice = small_voice("one_speaker");
  Engine engine(voice, options_with(2));
  const Heard want = hear(engine, small_request());
  EXPECT_GT(want.samples.size(), 1000U);
  for (const int initial : {1, 3, 200}) {
    SpeechRequest request = small_request();
    request.terms.initial_chunk_frames = initial;
    EXPECT_EQ(hear(engine, request), want) << initial;
  }
  Engine one(voice, options_with(1));
  EXPECT_EQ(hear(one, small_request()), want);
}

TEST(Piper, ABatchHasTheBitsOfRequestsAlone) {
  Engine engine(small_voice("one_speaker"), options_with(2));
  std::vector<SpeechRequest> requests;
  std::vector<Heard> alone;
  for (int i = 0; i < 6; ++i) {
    requests.push_back(small_request(std::string(kText).substr(static_cast<size_t>(i))));
    requests.back().sampling.seed = static_cast<uint64_t>(i / 2);
    alone.push_back(hear(engine, requests.back()));
  }
  std::vector<std::shared_ptr<Collector>> sinks;
  for (const SpeechRequest& request : requests) {
    sinks.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(engine.submit(request, sinks.back()).ok());
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    sinks[i]->wait();
    EXPECT_EQ(sinks[i]->samples(), alone[i].samples) << i;
  }
}

TEST(Piper, WordsHaveTheirTimes) {
  Engine engine(small_voice("one_speaker"), options_with(1));
  const Heard heard = hear(engine, small_request());
  ASSERT_EQ(heard.words.size(), 7U);
  EXPECT_EQ(heard.words[0].begin, 0);
  EXPECT_EQ(heard.words[0].end, 4);
  EXPECT_EQ(heard.words[3].begin, 15);  // the first word of the second sentence
  EXPECT_EQ(heard.words[6].end, 31);
  for (size_t i = 1; i < heard.words.size(); ++i) {
    EXPECT_GT(heard.words[i].frame, heard.words[i - 1].frame);
  }
  EXPECT_LT(heard.words.back().frame * 8, std::ssize(heard.samples));
}

TEST(Piper, LateTextIsSpokenAsIfItHadBeenThere) {
  Engine engine(small_voice("one_speaker"), options_with(1));
  const Heard want = hear(engine, small_request());
  SpeechRequest request = small_request("");
  request.say.open = true;
  const auto sink = std::make_shared<Collector>();
  const auto id = engine.submit(request, sink);
  ASSERT_TRUE(id.ok());
  const std::string text = kText;
  for (size_t at = 0; at < text.size(); at += 5) {
    engine.append_text(id.value(), text.substr(at, 5), at + 5 >= text.size());
  }
  sink->wait();
  EXPECT_EQ(sink->samples(), want.samples);
}

TEST(Piper, LateTextThatNeverComesIsRefused) {
  SpeechRequest request = small_request("");
  request.say.open = true;
  const auto state = open_only(*small_voice("one_speaker"), request);
  EXPECT_TRUE(state->append_text(" ", false).ok());
  const Status nothing = state->append_text(" ", true);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().param, "input");
}

TEST(Piper, SpeedSeedAndNoiseChangeWhatIsHeard) {
  Engine engine(small_voice("one_speaker"), options_with(1));
  const Heard plain = hear(engine, small_request());
  SpeechRequest slow = small_request(), other = small_request(), calm = small_request();
  slow.voice.speed = 0.5f;
  other.sampling.seed = 6;
  calm.sampling.temperature = 0.f;
  EXPECT_GT(hear(engine, slow).samples.size(), plain.samples.size() * 3 / 2);
  EXPECT_NE(hear(engine, other).samples, plain.samples);
  const Heard still = hear(engine, calm);
  EXPECT_EQ(still.samples.size(), plain.samples.size());  // the durations have the same noise
  EXPECT_NE(still.samples, plain.samples);
}

TEST(Piper, NoisesAndLengthAreOptions) {
  const auto voice = small_voice("one_speaker");
  Engine engine(voice, options_with(1));
  const Heard plain = hear(engine, small_request());
  SpeechRequest same = small_request(), calm = small_request(), even = small_request(),
                longer = small_request();
  same.sampling.noise_scale = 0.667f, same.sampling.noise_w = 0.8f;  // the values of the file
  same.voice.length_scale = 1.f;
  EXPECT_EQ(hear(engine, same), plain);
  calm.sampling.noise_scale = 0.f;
  const Heard still = hear(engine, calm);
  EXPECT_EQ(still.samples.size(), plain.samples.size());
  EXPECT_NE(still.samples, plain.samples);
  SpeechRequest cold = small_request();
  cold.sampling.temperature = 0.f;  // sets noise_scale as well
  EXPECT_EQ(hear(engine, cold), still);
  even.sampling.noise_w = 0.f;
  EXPECT_NE(hear(engine, even).samples.size(), plain.samples.size());
  longer.voice.length_scale = 2.f;
  SpeechRequest slow = small_request();
  slow.voice.speed = 0.5f;
  EXPECT_EQ(hear(engine, longer), hear(engine, slow));
  longer.voice.speed = 2;  // length_scale is divided by it
  EXPECT_EQ(hear(engine, longer), plain);
  calm.sampling.temperature = 1.f;
  const auto both = voice->open(calm);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().param, "noise_scale");
}

TEST(Piper, WarnsOfSymbolsThatTheVoiceCannotSay) {
  Engine engine(small_voice("one_speaker"), options_with(1));
  const auto warnings = [&](const std::string& text) {
    const auto sink = std::make_shared<Collector>();
    EXPECT_TRUE(engine.submit(small_request(text), sink).ok());
    return sink->wait().warnings;
  };
  EXPECT_TRUE(warnings(kText).empty());
  // 'x', 'y' and 'z' have no ids; the warning names each of them once.
  EXPECT_EQ(warnings("Abc yzy. Def z. Yx."),
            (std::vector<std::string>{
                "the voice has no sound for U+0079, U+007A, U+0078; they were omitted"}));
}

TEST(Piper, AVoiceThatIsReplacedMeanwhileIsTheOldTheNewOrAFault) {
  const TestDir dir;
  const std::string golden = SYRINX_BINARY_DIR "/parity/piper/golden/";
  const std::string graphs[] = {slurp(golden + "one_speaker.onnx"),
                                slurp(golden + "many_speakers.onnx")};
  const std::string configs[] = {small_json(1), small_json(3)};
  const std::string path = dir.write("small.onnx", graphs[0]);
  dir.write("small.onnx.json", configs[0]);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 1; !done; ++i) {
      const size_t which = static_cast<size_t>(i) % 2;
      if (i % 4 < 2) {  // writes the file in place, without a rename
        std::ofstream(path, std::ios::binary) << graphs[which];
        std::ofstream(path + ".json") << configs[which];
      } else {
        dir.write("new", graphs[which]);
        std::filesystem::rename(dir.path("new"), path);
        dir.write("new.json", configs[which]);
        std::filesystem::rename(dir.path("new.json"), path + ".json");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(i % 7));
    }
  });
  for (int i = 0; i < 60; ++i) {
    try {
      const auto voice = load_with({path, "small"}, say_letters);
      const size_t speakers = voice->info().speech.voices.size();
      EXPECT_TRUE(speakers == 1 || speakers == 3) << speakers;
    } catch (const LoadError&) {
      // The file was incomplete, or the writer paused between the two files for too long.
    }
  }
  done = true;
  writer.join();
  dir.write("small.onnx", graphs[1]);
  dir.write("small.onnx.json", configs[1]);
  EXPECT_EQ(load_with({path, "small"}, say_letters)->info().speech.voices.size(), 3u);
  std::filesystem::remove(path);  // removed between the listing and the load
  try {
    load_with({path, "small"}, say_letters);
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("small.onnx: cannot open"), std::string::npos);
  }
}

TEST(Piper, FactsAreKnownFromTheConfigAlone) {
  const TestDir dir;
  dir.write("small.onnx.json", small_json(3));
  const auto known = facts({.dir = dir.path("small.onnx"), .model = "small"});
  EXPECT_EQ(known->model, "small");
  EXPECT_EQ(known->speech.voices.size(), 3U);
  EXPECT_TRUE(known->speech.voices_are_speakers);
  EXPECT_EQ(known->speech.default_voice,
            small_voice("many_speakers", 3)->info().speech.default_voice);
}

TEST(Piper, SpeakersAreVoices) {
  const auto voice = small_voice("many_speakers", 3);
  ASSERT_EQ(voice->info().speech.voices.size(), 3U);
  EXPECT_EQ(voice->info().speech.default_voice, "anna");
  EXPECT_EQ(voice->info().speech.voices[1].id, "1");
  Engine engine(voice, options_with(1));
  SpeechRequest request = small_request(), number = small_request(), mix = small_request();
  request.voice.name = "carl";
  number.voice.name = "2";
  mix.voice.mix = {{"anna", nullptr, 1}, {"carl", nullptr, 1}};
  const Heard carl = hear(engine, request);
  EXPECT_EQ(hear(engine, number), carl);
  EXPECT_NE(hear(engine, small_request()).samples, carl.samples);
  EXPECT_NE(hear(engine, mix).samples, carl.samples);
  request.voice.name = "nemo";
  const auto refused = voice->open(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_NE(refused.error().message.find("nemo"), std::string::npos);
}

TEST(Piper, BoundsAndRefusals) {
  const auto voice = small_voice("one_speaker");
  Engine engine(voice, options_with(1));
  SpeechRequest bounded = small_request();
  bounded.terms.max_frames = 20;
  bounded.terms.ignore_stop = true;
  const auto sink = std::make_shared<Collector>();
  ASSERT_TRUE(engine.submit(bounded, sink).ok());
  EXPECT_EQ(sink->wait().reason, FinishReason::kLength);
  EXPECT_EQ(sink->samples().size(), 20U * 8);
  EXPECT_FALSE(voice->open(small_request("ß ...")).ok());
  EXPECT_FALSE(voice->open(small_request("")).ok());
}

/// The limit comes from espeak-ng, which reads a whole text before the first audio.
TEST(Piper, LongTextsAreSpokenUpToALimit) {
  const auto voice = small_voice("one_speaker");
  const size_t most = voice->info().max_text_bytes;
  EXPECT_EQ(most, 20'000);
  Engine engine(voice, options_with(1));
  std::string sentences;
  while (sentences.size() + std::strlen(kText) <= most) sentences += kText;
  for (const std::string& text :
       {sentences, std::string(most, 'a')}) {  // a single long word has the limit, too
    SpeechRequest request = small_request(text);
    request.terms.max_frames = 2000;
    const auto sink = std::make_shared<Collector>();
    ASSERT_TRUE(engine.submit(request, sink).ok());
    EXPECT_EQ(sink->wait().reason, FinishReason::kLength);
    EXPECT_EQ(sink->samples().size(), 2000U * 8);
  }
  const auto longer =
      engine.submit(small_request(std::string(100'000, 'a')), std::make_shared<Collector>());
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message, "the text has 100000 bytes, the limit is 20000");
}

TEST(Piper, FilesThatDoNotFitAreRefused) {
  const auto fault = [](const std::string& network, int speakers) -> std::string {
    try {
      small_voice(network, speakers);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault("one_speaker", 3).find("num_speakers: expected 1, got 3"), std::string::npos);
  EXPECT_NE(fault("many_speakers", 1).find("expected 3, got 1"), std::string::npos);
}

}  // namespace
}  // namespace syrinx::piper
