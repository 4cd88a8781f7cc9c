#include "voices/voices.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/collector.h"
#include "engine/engine.h"
#include "io/file.h"
#include "voices/fixture.h"

namespace syrinx {
namespace {

TEST(VoiceId, IsSafeAsAFileName) {
  EXPECT_EQ(voice_id("Anna Bell"), "anna-bell");
  EXPECT_EQ(voice_id("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(voice_id(".hidden"), "hidden");
  EXPECT_EQ(voice_id("a/b\\c\nd"), "a-b-c-d");
  EXPECT_EQ(voice_id("\xe5\xae\x89\xe5\xa8\x9c"), "\xe5\xae\x89\xe5\xa8\x9c");
  for (const char* bad : {"", "..", "---", "/", "\xff", " "}) EXPECT_EQ(voice_id(bad), "") << bad;
  EXPECT_EQ(voice_id(std::string(65, 'a')), "");
  EXPECT_EQ(voice_id(voice_id("Anna  B.-")), voice_id("Anna  B.-"));
}

TEST_F(VoicesTest, StoreKeepsAndGivesBack) {
  EXPECT_TRUE(store_.list().empty());
  EXPECT_FALSE(store_.find("anna"));
  const RecordedAudio audio = some_audio();
  const NewVoice anna{.name = "Anna Bell", .text = "Hello.", .consent = "by mail"};
  const auto added = store_.add(anna, audio);
  ASSERT_TRUE(added.ok()) << added.error().message;
  const auto found = store_.find("anna bell");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "anna-bell");
  EXPECT_EQ(found->name, "Anna Bell");
  EXPECT_EQ(found->text, "Hello.");
  EXPECT_EQ(found->consent, "by mail");
  EXPECT_EQ(found->sample_rate, 16000);
  EXPECT_GT(found->created_s, 1'600'000'000);
  const Recording back = store_.recording(*found);
  EXPECT_EQ(back.samples, audio.samples);
  EXPECT_EQ(back.text, "Hello.");
  EXPECT_EQ(store_.add(anna, audio).error().message, "the voice 'anna-bell' exists already");
  // Equal recordings under two names are stored once, and are removed with the last name.
  ASSERT_TRUE(store_.add({.name = "other"}, audio).ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 1u);
  EXPECT_EQ(store_.list().size(), 2u);
  ASSERT_TRUE(store_.remove("other").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 1u);
  ASSERT_TRUE(store_.remove("Anna Bell").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 0u);
  EXPECT_EQ(store_.remove("anna-bell").error().code, ErrorCode::kNotFound);
}

TEST_F(VoicesTest, StoreRefuses) {
  for (const char* bad : {"", "a+b", "a(2)", "...", "\xff"}) {
    const auto added = store_.add({.name = bad}, some_audio());
    ASSERT_FALSE(added.ok()) << bad;
    EXPECT_EQ(added.error().param, "name");
  }
  EXPECT_EQ(store_.add({.name = "a", .text = std::string(20'000, 'x')}, some_audio()).error().param,
            "ref_text");
  EXPECT_EQ(store_.add({.name = "a", .text = "\xff"}, some_audio()).error().param, "ref_text");
  VoiceStore small(dir_.path("small"), {.max_voices = 1, .max_bytes = 100'000});
  ASSERT_TRUE(small.add({.name = "a"}, some_audio()).ok());
  EXPECT_NE(small.add({.name = "b"}, some_audio()).error().message.find("limit"),
            std::string::npos);
  EXPECT_TRUE(small.add({.name = "a", .replace = true}, some_audio(1.5)).ok());
  EXPECT_EQ(files_in(dir_.path("small/recordings")), 1u);
  EXPECT_NE(small.add({.name = "a", .replace = true}, some_audio(2)).error().message.find("MiB"),
            std::string::npos);
}

TEST_F(VoicesTest, FieldsMayBeAsLongAsTheirLimit) {
  constexpr size_t kMost = 16 << 10;
  EXPECT_TRUE(store_.add({.name = "a", .text = std::string(kMost, 'x')}, some_audio()).ok());
  EXPECT_FALSE(store_.add({.name = "b", .text = std::string(kMost + 1, 'x')}, some_audio()).ok());
}

TEST_F(VoicesTest, KeysDistinguishTheirParts) {
  EXPECT_NE(voice_key("r", encoder_, "ab", "c"), voice_key("r", encoder_, "a", "bc"));
  EXPECT_EQ(voice_key("r", encoder_, "a", "b"), voice_key("r", encoder_, "a", "b"));
}

/// A mode that needs a text is not the default for a recording without text.
TEST_F(VoicesTest, TheFirstModeThatFitsIsMeant) {
  VoiceEncoderInfo choosy = encoder_;
  choosy.modes = {{.name = "in-context", .needs_text = true}, {.name = "x-vector"}};
  const Speaker speaker{toy_->info(), &choosy, &store_};
  const auto key = [&](const std::string& text, const std::string& mode) {
    const VoiceSource source{.audio = some_file(), .text = text, .mode = mode};
    return prepare_voice(speaker, source, {}).take().key;
  };
  EXPECT_EQ(key("", ""), key("", "x-vector"));
  EXPECT_EQ(key("Hello.", ""), key("Hello.", "in-context"));
  EXPECT_NE(key("Hello.", ""), key("Hello.", "x-vector"));
}

/// A voice is not stored if its recording was removed meanwhile.
TEST_F(VoicesTest, NothingIsKeptOfARecordingThatIsGone) {
  const auto added = store_.add({.name = "anna"}, some_audio());
  ASSERT_TRUE(added.ok());
  const std::string recording = added.value().recording;
  ASSERT_TRUE(store_.remove("anna").ok());
  store_.keep(std::string(64, 'a'), recording, some_voice());
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 0u);
}

TEST_F(VoicesTest, DamagedEntriesAreLeftOut) {
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio()).ok());
  const std::string valid = slurp(dir_.path("store/names/anna.json"));
  for_each_damage(valid, 500, [&](const std::string& bytes) {
    dir_.write("store/names/bad.json", bytes);
    for (const StoredVoice& voice : store_.list()) {
      for (const std::string& part : {voice.recording, voice.encoded}) {
        EXPECT_TRUE(part.empty() || part.size() == 64) << part;
        EXPECT_EQ(part.find('/'), std::string::npos);
      }
    }
  });
  // A missing recording is reported as missing.
  std::filesystem::remove_all(dir_.path("store/recordings"));
  EXPECT_THROW(store_.recording(*store_.find("anna")), LoadError);
}

/// Limits the size of files that this process writes to `bytes`, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : ignored_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, ignored_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*const ignored_)(int);
};

/// A voice that does not fit on the disk is refused and leaves no files. Earlier voices remain.
TEST_F(VoicesTest, AFullDiskCostsOnlyWhatWasToBeKept) {
  const RecordedAudio audio = some_audio();
  ASSERT_TRUE(store_.add({.name = "anna"}, audio).ok());
  const auto files = [&] {
    return std::pair(files_in(dir_.path("store")), files_in(dir_.path("store/recordings")));
  };
  const auto before = files();
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1000}}) {
    const FullDisk full(bytes);
    bool kept = false;
    try {
      kept = store_.add({.name = "bell"}, some_audio(1, 0.07)).ok();
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()), "");
    }
    EXPECT_FALSE(kept);
    EXPECT_FALSE(store_.find("bell"));
  }
  EXPECT_EQ(files(), before);
  const auto found = store_.find("anna");
  ASSERT_TRUE(found);
  EXPECT_EQ(store_.recording(*found).samples, audio.samples);
  EXPECT_TRUE(store_.add({.name = "bell"}, some_audio(1, 0.07)).ok());
}

TEST_F(VoicesTest, ProcessesDoNotDisturbEachOther) {
  // Each thread has its own store, like two processes.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      VoiceStore store(dir_.path("store"));
      const RecordedAudio audio = some_audio(0.5, 0.03 + 0.01 * t);
      for (int i = 0; i < 8; ++i) {
        const std::string name = "v" + std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(store.add({.name = name}, audio).ok());
        if (i % 2 == 0) {
          EXPECT_TRUE(store.remove(name).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto voices = store_.list();
  EXPECT_EQ(voices.size(), 16u);
  for (const StoredVoice& voice : voices) {
    EXPECT_EQ(store_.recording(voice).samples.size(), 8000u) << voice.id;
  }
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 4u);
}

TEST_F(VoicesTest, ReplacedByAnotherProcessWhileItIsUsed) {
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio(0.1, 0.05)).ok());
  std::atomic<bool> ended = false;
  std::thread other([&] {
    VoiceStore store(dir_.path("store"));
    for (int i = 0; i < 300; ++i) {
      const double pitch = i % 2 == 0 ? 0.07 : 0.05;
      EXPECT_TRUE(store.add({.name = "anna", .replace = true}, some_audio(0.1, pitch)).ok());
    }
    ended = true;
  });
  while (!ended) {
    const auto prepared = prepare_voice(speaker_, {.stored = "anna"}, {});
    EXPECT_TRUE(prepared.ok()) << prepared.error().message;
    if (!prepared.ok()) break;
  }
  other.join();
}

TEST_F(VoicesTest, Consents) {
  const auto consent = store_.add_consent("Anna", "en-US", some_audio());
  ASSERT_TRUE(consent.ok()) << consent.error().message;
  EXPECT_EQ(store_.find_consent(consent.value().id)->name, "Anna");
  EXPECT_EQ(store_.consents().size(), 1u);
  EXPECT_FALSE(store_.find_consent("cons_../../x"));
  // An invalid id is refused even if its path leads to a readable file.
  ASSERT_TRUE(store_.add({.name = "anna"}, some_audio()).ok());
  std::filesystem::create_directories(dir_.path("store/consents/cons_"));
  EXPECT_TRUE(is_file(dir_.path("store/consents/cons_/../../names/anna.json")));
  EXPECT_FALSE(store_.find_consent("cons_/../../names/anna"));
  std::filesystem::remove(dir_.path("store/consents/cons_"));
  ASSERT_TRUE(store_.remove("anna").ok());
  EXPECT_FALSE(store_.add_consent("", "en", some_audio()).ok());
  ASSERT_TRUE(store_.add({.name = "a"}, some_audio()).ok());
  ASSERT_TRUE(store_.remove("a").ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 1u);  // the consent needs this recording
  ASSERT_TRUE(store_.remove_consent(consent.value().id).ok());
  EXPECT_EQ(files_in(dir_.path("store/recordings")), 0u);
}

TEST_F(VoicesTest, NamesAreFoundInOrder) {
  ASSERT_TRUE(store_.add({.name = "Anna"}, some_audio()).ok());
  ASSERT_TRUE(store_.add({.name = "toy"}, some_audio()).ok());
  const auto own = find_voices(speaker_, "Toy").take();  // the model's own voice comes first
  EXPECT_EQ(own.at(0).own, "toy");
  const auto stored = find_voices(speaker_, "ANNA").take();
  EXPECT_EQ(stored.at(0).source->stored, "anna");
  const auto mix = find_voices(speaker_, "anna(2)+toy").take();
  ASSERT_EQ(mix.size(), 2u);
  EXPECT_EQ(mix[0].weight, 2);
  EXPECT_EQ(mix[1].own, "toy");
  EXPECT_EQ(find_voices(speaker_, "berta").error().message,
            "There is no voice 'berta'; this model has: toy, anna.");
  EXPECT_EQ(find_voices(speaker_, "anna+berta").error().code, ErrorCode::kNotFound);

  const auto plain = make_toy_pipeline();
  const Speaker fixed{plain->info(), nullptr, &store_};
  EXPECT_EQ(find_voices(fixed, "anna").error().message,
            "The voice 'anna' is a recording: The model 'toy' cannot clone a voice: this model's "
            "voices are fixed.");
  EXPECT_EQ(find_voices(fixed, "toy+toy").error().message, "The model 'toy' does not mix voices.");
  EXPECT_EQ(find_voices(fixed, "toy(2)").take().at(0).own, "toy");
}

TEST_F(VoicesTest, GivenVoicesFitTheirFamily) {
  const auto added = store_.add({.name = "given"}, some_voice());
  ASSERT_TRUE(added.ok()) << added.error().message;
  const auto wish = find_voices(speaker_, "given").take().at(0);
  const auto prepared = prepare_voice(speaker_, *wish.source, {}).take();
  ASSERT_TRUE(prepared.voice);
  EXPECT_EQ(voice_hash(*prepared.voice), voice_hash(some_voice()));
  Voice foreign = some_voice();
  foreign.family = "other";
  ASSERT_TRUE(store_.add({.name = "foreign"}, foreign).ok());
  EXPECT_EQ(find_voices(speaker_, "foreign").error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(can_speak_with(speaker_, *store_.find("foreign")));
  ASSERT_TRUE(store_.remove("foreign").ok());
  EXPECT_TRUE(prepare_voice(speaker_, *wish.source, {}).take().voice);
  EXPECT_EQ(files_in(dir_.path("store/encoded")), 1u);
}

TEST_F(VoicesTest, RecordingsAreEncodedOnce) {
  VoiceCache cache(1 << 20);
  const PrepareOptions options{.cache = &cache};
  const PrepareOptions quick{.cache = &cache, .quick = true};
  ASSERT_TRUE(store_.add({.name = "anna", .text = "Hello."}, some_audio()).ok());
  const VoiceSource named{.stored = "anna"};
  auto first = prepare_voice(speaker_, named, options).take();
  EXPECT_FALSE(first.voice);
  EXPECT_EQ(first.recording.samples, some_audio().samples);
  EXPECT_EQ(prepare_voice(speaker_, named, quick).take().key, "");
  keep_voice(speaker_, first, some_voice(2), &cache);
  EXPECT_TRUE(prepare_voice(speaker_, named, quick).take().voice);
  EXPECT_TRUE(prepare_voice(speaker_, named, {}).take().voice);  // the voice is read from the disk
  VoiceCache empty(1 << 20);
  EXPECT_FALSE(prepare_voice(speaker_, named, {.cache = &empty, .quick = true}).take().voice);
  EXPECT_TRUE(prepare_voice(speaker_, named, {.cache = &empty}).take().voice);
  EXPECT_TRUE(prepare_voice(speaker_, named, {.cache = &empty, .quick = true}).take().voice)
      << "read from the disk once";
  // A new version of the encoder encodes the stored recording again.
  VoiceEncoderInfo newer = encoder_;
  newer.version = "toy-2";
  const Speaker later{toy_->info(), &newer, &store_};
  auto again = prepare_voice(later, named, options).take();
  EXPECT_FALSE(again.voice);
  EXPECT_NE(again.key, first.key);

  const VoiceSource sent{.audio = some_file(), .mode = "x-vector"};
  const auto fresh = prepare_voice(speaker_, sent, options).take();
  EXPECT_FALSE(fresh.voice);
  keep_voice(speaker_, fresh, some_voice(3), &cache);
  EXPECT_TRUE(prepare_voice(speaker_, sent, quick).take().voice);
  EXPECT_FALSE(
      prepare_voice(speaker_, {.audio = some_file(), .text = "a", .mode = "x-vector"}, quick)
          .take()
          .voice);
  EXPECT_FALSE(prepare_voice(speaker_, {.audio = "noise"}, options).ok());
}

TEST_F(VoicesTest, RecordingsAreReadOnce) {
  // A recording that was already decoded is not decoded again, which would fail here.
  VoiceSource source{.audio = "noise"};
  source.decoded = std::make_shared<const RecordedAudio>(some_audio());
  const auto prepared = prepare_voice(speaker_, source, {}).take();
  EXPECT_EQ(prepared.recording.samples, some_audio().samples);
  EXPECT_EQ(prepared.recording.sample_rate, 16000);
  // A recording is not decoded either if another thread is already making its voice.
  std::string asked;
  const auto waits = [&](const std::string& key) {
    asked = key;
    return true;
  };
  const auto joined = prepare_voice(speaker_, {.audio = "noise"}, {.under_way = waits}).take();
  EXPECT_EQ(joined.key, asked);
  EXPECT_EQ(asked, prepared.key);
  EXPECT_FALSE(joined.voice);
  EXPECT_TRUE(joined.recording.samples.empty());
  const auto not_yet = [](const std::string&) { return false; };
  EXPECT_FALSE(prepare_voice(speaker_, {.audio = "noise"}, {.under_way = not_yet}).ok());
}

TEST_F(VoicesTest, AddedWithWhatWasMadeOfThem) {
  ASSERT_TRUE(add_voice(store_, encoder_, {.name = "anna"}, some_audio(), some_voice(5)).ok());
  const auto prepared = prepare_voice(speaker_, {.stored = "anna"}, {}).take();
  ASSERT_TRUE(prepared.voice);
  EXPECT_EQ(prepared.voice->find("speaker")->f32()[0], 5);
}

TEST_F(VoicesTest, DamagedVoicesAreMadeAgain) {
  ASSERT_TRUE(add_voice(store_, encoder_, {.name = "anna"}, some_audio(), some_voice(5)).ok());
  const auto key = prepare_voice(speaker_, {.stored = "anna"}, {}).take().key;
  dir_.write("store/encoded/" + key + ".safetensors", "damaged");
  const auto prepared = prepare_voice(speaker_, {.stored = "anna"}, {}).take();
  EXPECT_FALSE(prepared.voice);
  EXPECT_FALSE(prepared.recording.samples.empty());
}

TEST(VoiceCache, ForgetsTheLeastRecentlyUsed) {
  VoiceCache cache(3000);
  const auto voice = std::make_shared<const Voice>(some_voice());
  for (const char* key : {"a", "b", "c"}) cache.put(key, voice);
  EXPECT_TRUE(cache.find("a"));
  for (const char* key : {"d", "e", "f"}) {
    cache.put(key, voice);
    EXPECT_TRUE(cache.find("a"));
  }
  EXPECT_FALSE(cache.find("b"));
  EXPECT_LE(cache.bytes(), 3000u);
  const size_t bytes = cache.bytes();
  cache.put("a", voice);
  EXPECT_EQ(cache.bytes(), bytes) << "it is there already";
  VoiceCache tiny(10);
  tiny.put("a", voice);
  EXPECT_FALSE(tiny.find("a"));

  VoiceCache measure(3000);
  measure.put("a", voice);
  VoiceCache one(measure.bytes());
  for (int i = 0; i < 2; ++i) one.put("a", voice);
  EXPECT_TRUE(one.find("a")) << "it is the only one, and put twice";
  EXPECT_EQ(one.bytes(), measure.bytes());
}

TEST_F(VoicesTest, ClonesSpeakWithTheirVoice) {
  EngineOptions options;
  options.threads = 1;
  Engine engine(toy_, options);
  const auto speak = [&](const std::vector<VoiceWish>& wishes,
                         std::vector<std::shared_ptr<const Voice>> fetched) {
    SpeechRequest request;
    request.say.text = "hello";
    put_voices(wishes, fetched, request);
    const auto collector = std::make_shared<Collector>();
    const auto id = engine.submit(request, collector);
    EXPECT_TRUE(id.ok());
    if (id.ok()) collector->wait();
    return collector->samples();
  };
  const auto a = std::make_shared<const Voice>(some_voice(1));
  const auto b = std::make_shared<const Voice>(some_voice(-1));
  const VoiceWish cloned{.source = std::make_shared<VoiceSource>()};
  const auto plain = speak({{.own = "toy"}}, {});
  EXPECT_NE(speak({cloned}, {a}), plain);
  EXPECT_EQ(speak({cloned, cloned}, {a, b}), plain);  // equal weights of opposite voices cancel
  EXPECT_NE(speak({cloned, {.own = "toy"}}, {a}), plain);
}

}  // namespace
}  // namespace syrinx
