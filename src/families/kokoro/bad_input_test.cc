// Unusable input of Kokoro: symbols without a sound, very long texts, empty voices, and a voice
// file that is replaced while it is read.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "families/checkpoint_copy.h"
#include "families/kokoro/pipeline.h"
#include "families/kokoro/script.h"
#include "families/kokoro/voices.h"
#include "families/kokoro/weights.h"
#include "io/expect_fault.h"
#include "io/file.h"

namespace syrinx::kokoro {
namespace {

std::string checkpoint() { return SYRINX_BINARY_DIR "/parity/kokoro/golden/published/checkpoint"; }

KokoroConfig config_of_checkpoint() {
  return load_config(Config::load(checkpoint() + "/config.json"));
}

std::string fault_in(const std::string& dir) {
  try {
    load_voices(dir, config_of_checkpoint());
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(KokoroBadInput, SymbolsWithoutASoundAreNamedOnce) {
  KokoroConfig config = config_of_checkpoint();
  config.vocabulary.erase("l");
  Script script(config, std::make_shared<const EnglishReader>(), "en-us", {});
  ASSERT_TRUE(script.push("Hello. Yellow leaves.", true).ok());
  const auto warnings = [&] {
    std::vector<int32_t> codes;
    std::vector<WordMark> words;
    StepOutput out(codes, words);
    script.report(out);
    return std::vector<std::string>(out.warnings().begin(), out.warnings().end());
  };
  Utterance utterance;
  ASSERT_TRUE(script.next(utterance));
  EXPECT_GT(utterance.phonemes(), 2);
  EXPECT_EQ(warnings(),
            std::vector<std::string>{"the voice has no sound for U+006C; it was omitted"});
  ASSERT_TRUE(script.next(utterance));
  EXPECT_TRUE(warnings().empty());
}

TEST(KokoroBadInput, AHundredThousandCharactersAreCutToTheModelsLimit) {
  const KokoroConfig config = config_of_checkpoint();
  const auto reader = std::make_shared<const EnglishReader>();
  std::string words, sentences;
  while (words.size() < 100'000) words += "seashells ";
  while (sentences.size() < 100'000) sentences += "She sells seashells. ";
  for (const std::string& text : {words, sentences, std::string(100'000, 'a')}) {
    Script script(config, reader, "en-us", {});
    ASSERT_TRUE(script.push(text, true).ok());
    Utterance utterance;
    for (int i = 0; i < 20 && script.next(utterance); ++i) {
      EXPECT_GT(utterance.phonemes(), 0);
      EXPECT_LE(utterance.phonemes(), config.most_phonemes());
    }
  }
  const auto model = load({checkpoint(), "tiny"});
  SpeechRequest request;
  request.say.text = sentences;
  EXPECT_TRUE(model->open(request).ok());
  request.say.language = "es";  // espeak-ng would have to run for each sentence
  const auto refused = model->open(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "input");
  expect_fault(refused.error().message, "bytes, but the limit in 'es' is 20000");
}

TEST(KokoroBadInput, EmptyVoicesAreRefusedByName) {
  for (const char* name : {"voices/af_bad.pt", "voices/af_bad.bin", "voices-v1.0.bin"}) {
    const CheckpointCopy copy(checkpoint());
    copy.dir.write(name, "");
    expect_fault(fault_in(copy.dir.path()), name);
  }
  const CheckpointCopy copy(checkpoint());
  std::filesystem::remove_all(copy.dir.path("voices"));
  std::filesystem::create_directory(copy.dir.path("voices"));
  try {
    load({copy.dir.path(), "copy", WeightType::kQ8});
    ADD_FAILURE() << "a folder without a voice";
  } catch (const LoadError& error) {
    expect_fault(error.what(), "voices: expected voices, NAME.pt; got none");
  }
}

TEST(KokoroBadInput, WeightsThatAreCutOffAreReportedAndMeanwhileHarmless) {
  const CheckpointCopy copy(checkpoint());
  const std::string path = copy.dir.path("kokoro-v1_0.pth"), bytes = slurp(path);
  const std::string name = "decoder.generator.conv_post.bias";
  const auto taken = [&](WeightSource& source) {
    const View view = source.take(name, *source.shape(name));
    return std::string(static_cast<const char*>(view.data), view.bytes());
  };
  copy.dir.write("kokoro-v1_0.pth", bytes);  // replaces the file, because the copy may be a link
  const auto whole = open_kokoro_weights(copy.dir.path());
  const std::string want = taken(*whole);
  const auto source = open_kokoro_weights(copy.dir.path());
  std::filesystem::resize_file(path, 10);  // reading a mapping of the cut file would be fatal
  EXPECT_EQ(taken(*source), want);
  for (const size_t size : {bytes.size() - 1, bytes.size() / 2, size_t{5}}) {
    copy.dir.write("kokoro-v1_0.pth", bytes.substr(0, size));
    try {
      open_kokoro_weights(copy.dir.path());
      ADD_FAILURE() << size;
    } catch (const LoadError& error) {
      expect_fault(error.what(), "kokoro-v1_0.pth: zip: the archive is cut off");
    }
  }
}

TEST(KokoroBadInput, AVoiceThatIsReplacedMeanwhileIsTheOldTheNewOrAFault) {
  const CheckpointCopy copy(checkpoint());
  const KokoroConfig config = config_of_checkpoint();
  const Voices before = load_voices(copy.dir.path(), config);
  const std::string path = copy.dir.path("voices/af_owl.pt");
  const std::string files[] = {slurp(path), slurp(copy.dir.path("voices/bm_rook.pt"))};
  ASSERT_NE(files[0], files[1]);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 1; !done; ++i) {
      const std::string& bytes = files[i % 2];
      if (i % 4 < 2) {
        std::ofstream(path, std::ios::binary) << bytes;
      } else {
        copy.dir.write("new", bytes);
        std::filesystem::rename(copy.dir.path("new"), path);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (i % 7)));
    }
  });
  int loads = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      const Voices voices = load_voices(copy.dir.path(), config);
      const VoicePack& owl = *voices.at("af_owl");
      EXPECT_TRUE(owl == *before.at("af_owl") || owl == *before.at("bm_rook"));
      ++loads;
    } catch (const LoadError&) {  // the file was cut or changed while it was read
    }
  }
  done = true;
  writer.join();
  EXPECT_GT(loads, 0);
  copy.dir.write("voices/af_owl.pt", files[1]);
  EXPECT_EQ(*load_voices(copy.dir.path(), config).at("af_owl"), *before.at("bm_rook"));
}

}  // namespace
}  // namespace syrinx::kokoro
