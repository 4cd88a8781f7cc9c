// Tests of the store's permissions, of which files it keeps and removes, and of how it validates
// the contents of its files. voices_test.cc tests the storing of voices.
#include "voices/voice_store.h"

#include <sys/stat.h>

#include <cstdlib>

#include "io/file.h"
#include "voices/fixture.h"

namespace syrinx {
namespace {

/// Sets an environment variable while this object exists. Null unsets the variable.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_);
  }
  const char* const name_;
  std::optional<std::string> before_;
};

TEST(VoiceDirectory, IsTheOneGivenOrWhereDataBelongs) {
  const Variable given("SYRINX_VOICES", "/here"), data("XDG_DATA_HOME", "/data"),
      home("HOME", "/home/me");
  EXPECT_EQ(VoiceStore::default_directory(), "/here");
  const Variable nothing_given("SYRINX_VOICES", nullptr);
  EXPECT_EQ(VoiceStore::default_directory(), "/data/syrinx/voices");
  const Variable relative("XDG_DATA_HOME", "data");
  EXPECT_EQ(VoiceStore::default_directory(), "/home/me/.local/share/syrinx/voices")
      << "where no relative path counts";
  const Variable homeless("HOME", "");
  EXPECT_EQ(VoiceStore::default_directory(), "");
}

class VoiceStoreTest : public VoicesTest {
 protected:
  mode_t mode_of(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat(dir_.path(name).c_str(), &found), 0) << name;
    return found.st_mode & 07777;
  }
};

TEST_F(VoiceStoreTest, IsMadeWithTheFirstVoiceAndForItsOwnerOnly) {
  EXPECT_TRUE(store_.list().empty());
  EXPECT_FALSE(store_.find("anna"));
  EXPECT_FALSE(store_.remove("anna").ok());
  EXPECT_FALSE(std::filesystem::exists(dir_.path("store"))) << "looking makes nothing";
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio()).ok());
  EXPECT_EQ(mode_of("store"), 0700u) << "recordings of people";
  EXPECT_EQ(mode_of("store/.lock"), 0600u);
}

TEST_F(VoiceStoreTest, ADirectoryThatCannotBeMadeIsNamed) {
  dir_.write("file", "no directory");
  VoiceStore store(dir_.path("file/store"));
  try {
    (void)store.add({.name = "anna"}, some_audio());
    FAIL() << "kept below a file";
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find(dir_.path("file/store")), std::string::npos);
  }
}

TEST_F(VoiceStoreTest, VoicesComeInTheOrderOfTheirIds) {
  for (const char* name : {"Zoe", "anna", "Bell 2", "bell 10"})
    ASSERT_TRUE(store_.add({.name = name}, some_audio()).ok());
  std::vector<std::string> ids;
  for (const StoredVoice& voice : store_.list()) ids.push_back(voice.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"anna", "bell-10", "bell-2", "zoe"}));
}

TEST_F(VoiceStoreTest, AVoiceIsFoundByItsNameOrItsId) {
  const NewVoice wish{.name = "Anna Bell", .description = "warm"};
  ASSERT_TRUE(store_.add(wish, some_audio()).ok());
  for (const char* name : {"Anna Bell", "anna-bell", "ANNA  BELL", "anna.bell "}) {
    const auto found = store_.find(name);
    EXPECT_EQ(found.has_value(), std::string(name) != "anna.bell ") << name;
    if (found) {
      EXPECT_EQ(found->description, "warm");
    }
  }
  EXPECT_FALSE(store_.find(""));
  EXPECT_FALSE(store_.find("../names/anna-bell"));
}

/// Files of other programs have names that no voice can have.
TEST_F(VoiceStoreTest, NamesThatNoVoiceCanHaveAreLeftOut) {
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio()).ok());
  const std::string valid = slurp(dir_.path("store/names/anna.json"));
  for (const char* file : {"Anna", "-anna", "anna bell", "anna+bell"})
    dir_.write(std::string("store/names/") + file + ".json", valid);
  dir_.write("store/names/anna.txt", valid);
  EXPECT_EQ(store_.list().size(), 1u);
}

TEST_F(VoiceStoreTest, TheRecordingComesBackAsAFile) {
  const RecordedAudio audio = some_audio(0.7);
  const auto added = store_.add({.name = "anna", .text = "Hello.", .mode = "x-vector"}, audio);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(store_.recording_file(added.value()), recording_wav(audio.samples, audio.sample_rate));
  EXPECT_EQ(added.value().recording_bytes, std::ssize(store_.recording_file(added.value())));
  EXPECT_NEAR(added.value().seconds, 0.7, 1e-3);
  const Recording back = store_.recording(added.value());
  EXPECT_EQ(back.sample_rate, 16000);
  EXPECT_EQ(back.mode, "x-vector");
}

TEST_F(VoiceStoreTest, ARecordingThatWasCutIsWrittenAnew) {
  const RecordedAudio audio = some_audio();
  const auto added = store_.add({.name = "anna"}, audio);
  ASSERT_TRUE(added.ok());
  dir_.write("store/recordings/" + added.value().recording + ".wav", "");
  ASSERT_TRUE(store_.add({.name = "bell"}, audio).ok());
  EXPECT_EQ(store_.recording_file(added.value()), recording_wav(audio.samples, audio.sample_rate));
}

TEST_F(VoiceStoreTest, ARecordingOfTwoChannelsIsNone) {
  const auto added = store_.add({.name = "anna"}, some_audio());
  ASSERT_TRUE(added.ok());
  std::string wav = store_.recording_file(added.value());
  wav[22] = 2;  // sets the number of channels
  wav[32] = 4;  // sets the bytes per frame
  dir_.write("store/recordings/" + added.value().recording + ".wav", wav);
  try {
    (void)store_.recording(added.value());
    FAIL() << "read";
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("channel"), std::string::npos) << error.what();
  }
}

/// A voice encoded from a recording is removed with the last name that needs it, not earlier.
TEST_F(VoiceStoreTest, WhatWasMadeGoesWithItsRecording) {
  ASSERT_TRUE(add_voice(store_, encoder_, {.name = "anna"}, some_audio(), some_voice()).ok());
  ASSERT_TRUE(store_.add({.name = "again"}, some_audio()).ok());
  const auto other = some_audio(1, 0.09);
  ASSERT_TRUE(add_voice(store_, encoder_, {.name = "bell"}, other, some_voice(2)).ok());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 2u);
  ASSERT_TRUE(store_.remove("anna").ok());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 2u) << "the same recording has another name";
  ASSERT_TRUE(store_.remove("again").ok());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 1u);
  EXPECT_TRUE(prepare_voice(speaker_, {.stored = "bell"}, {}).take().voice);
}

TEST_F(VoiceStoreTest, ReplacingLetsGoOfWhatItReplaces) {
  ASSERT_TRUE(add_voice(store_, encoder_, {.name = "anna"}, some_audio(), some_voice()).ok());
  const NewVoice again{.name = "anna", .description = "another one", .replace = true};
  ASSERT_TRUE(store_.add(again, some_audio(1, 0.09)).ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 1u);
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 0u);
  EXPECT_EQ(store_.find("anna")->description, "another one");
  // Replacing a voice by an equal one keeps the recording.
  ASSERT_TRUE(store_.add(again, some_audio(1, 0.09)).ok());
  EXPECT_EQ(store_.recording(*store_.find("anna")).samples, some_audio(1, 0.09).samples);
}

/// An unreadable entry may need any file, so nothing is removed.
TEST_F(VoiceStoreTest, NothingGoesWhileANameOrAConsentCannotBeRead) {
  const auto consent = store_.add_consent("Anna", "en", some_audio(1, 0.03));
  ASSERT_TRUE(consent.ok());
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio()).ok());
  ASSERT_TRUE(store_.add({.name = "bell"}, some_audio(1, 0.07)).ok());
  const std::string name = slurp(dir_.path("store/names/anna.json"));
  dir_.write("store/names/anna.json", name.substr(0, 20));
  ASSERT_TRUE(store_.remove("bell").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 3u);
  dir_.write("store/names/anna.json", name);

  ASSERT_TRUE(store_.add({.name = "cora"}, some_audio(1, 0.09)).ok());
  const std::string file = "store/consents/" + consent.value().id + ".json";
  const std::string said = slurp(dir_.path(file));
  dir_.write(file, said.substr(0, 20));
  EXPECT_FALSE(store_.find_consent(consent.value().id));
  ASSERT_TRUE(store_.remove("cora").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 4u) << "the consent's is among them";
  dir_.write(file, said);
  EXPECT_EQ(store_.find_consent(consent.value().id)->name, "Anna");
  ASSERT_TRUE(store_.add({.name = "dora"}, some_audio(1, 0.09)).ok());
  ASSERT_TRUE(store_.remove("dora").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 2u) << "anna's and the consent's";
}

TEST_F(VoiceStoreTest, ConsentsAreBoundedAsVoicesAre) {
  VoiceStore small(dir_.path("small"), {.max_voices = 2});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(small.add_consent("Anna", "en", some_audio()).ok());
  const auto more = small.add_consent("Anna", "en", some_audio());
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.error().message.find("2 consents"), std::string::npos) << more.error().message;
  EXPECT_EQ(small.remove_consent("cons_00").error().code, ErrorCode::kNotFound);
  const std::vector<StoredConsent> all = small.consents();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0].id, all[1].id);
  EXPECT_EQ(all[0].language, "en");
  EXPECT_GT(all[0].created_s, 1'600'000'000);
  ASSERT_TRUE(small.remove_consent(all[0].id).ok());
  EXPECT_TRUE(small.add_consent("Bell", "de", some_audio()).ok());
}

TEST_F(VoiceStoreTest, OnlyKeysAreLookedForAmongWhatWasMade) {
  ASSERT_TRUE(store_.add({.name = "given"}, some_voice(4)).ok());
  const std::string key = store_.find("given")->encoded;
  ASSERT_TRUE(store_.load(key));
  EXPECT_EQ(store_.load(key)->find("speaker")->f32()[0], 4);
  EXPECT_FALSE(store_.load(std::string(64, 'a')));
  EXPECT_FALSE(store_.load("../encoded/" + key));
  std::string upper = key;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(store_.load(upper) != nullptr, upper == key);
}

/// Equal voices without recordings share a file. Voices that differ in any property do not.
TEST_F(VoiceStoreTest, GivenVoicesAreKnownByAllTheyAreMadeOf) {
  ASSERT_TRUE(store_.add({.name = "a"}, some_voice(1)).ok());
  ASSERT_TRUE(store_.add({.name = "b"}, some_voice(1)).ok());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 1u);
  Voice version = some_voice(1), text = some_voice(1), more = some_voice(1), shape = some_voice(1);
  version.encoder = "given-2";
  text.text = "Hello.";
  more.tensors.emplace("codes", Tensor(Shape{1}, DType::kI32));
  Tensor square(Shape{2, 2}, DType::kF32);
  square.f32()[0] = 1;
  shape.tensors.at("speaker") = std::move(square);
  int named = 0;
  for (const Voice* voice : {&version, &text, &more, &shape})
    ASSERT_TRUE(store_.add({.name = "other" + std::to_string(++named)}, *voice).ok());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 5u);
}

/// Between finding a voice and preparing it, another process may replace the voice.
TEST_F(VoiceStoreTest, AVoiceThatBecameOneTheModelCannotSpeakWithIsRefused) {
  const auto plain = make_toy_pipeline();
  const Speaker fixed{plain->info(), nullptr, &store_};
  ASSERT_TRUE(store_.add({.name = "given"}, some_voice()).ok());
  const auto wish = find_voices(fixed, "given").take().at(0);
  ASSERT_TRUE(prepare_voice(fixed, *wish.source, {}).take().voice);
  ASSERT_TRUE(store_.add({.name = "given", .replace = true}, some_audio()).ok());
  auto recording = prepare_voice(fixed, *wish.source, {});
  ASSERT_FALSE(recording.ok());
  EXPECT_EQ(recording.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(recording.error().message.find("cannot clone"), std::string::npos);
  Voice foreign = some_voice();
  foreign.family = "other";
  ASSERT_TRUE(store_.add({.name = "given", .replace = true}, foreign).ok());
  EXPECT_EQ(prepare_voice(fixed, *wish.source, {}).error().code, ErrorCode::kUnsupported);
  ASSERT_TRUE(store_.remove("given").ok());
  EXPECT_EQ(prepare_voice(fixed, *wish.source, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace syrinx
