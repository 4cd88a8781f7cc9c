// Tests of the family that need no golden file: phonemes, the places where a text is cut, voices
// and mixes, and faulty checkpoints and requests.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include "families/checkpoint_copy.h"
#include "families/kokoro/pipeline.h"
#include "families/kokoro/said_pieces.h"
#include "families/kokoro/script.h"
#include "families/kokoro/speech_stage.h"
#include "families/kokoro/state.h"
#include "families/kokoro/voices.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "model/step_runner.h"

namespace syrinx::kokoro {
namespace {

std::string small_checkpoint() {
  return SYRINX_BINARY_DIR "/parity/kokoro/golden/published/checkpoint";
}

std::string fault_of(const std::string& dir) {
  try {
    load({dir, "copy", WeightType::kQ8});
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

std::string misaki_of_sentence(const std::string& text) {
  static const auto kReader = std::make_shared<const EnglishReader>();
  std::string out;
  for (const finch::Sentence& sentence : finch::split_sentences(text)) {
    for (const Spoken& each : english_words(*kReader, sentence)) {
      out += (each.space ? " " : "") + each.phonemes;
    }
  }
  return out;
}

TEST(KokoroPhonemes, AreMisakisAlphabet) {
  const std::array<std::string_view, 5> water{"w", "ao1", "t", "er"};
  EXPECT_EQ(misaki_of_phones(std::span(water).first(4)), "wˈɔTəɹ");
  const std::array<std::string_view, 5> button{"b", "ah1", "t", "ax", "n"};
  EXPECT_EQ(misaki_of_phones(button), "bˈʌtᵊn");
  const std::array<std::string_view, 7> nation{"ae1", "l", "ax", "n", "ey1", "sh", "ax"};
  EXPECT_EQ(misaki_of_phones(nation), "ˈælənˌAʃə");
  const std::array<std::string_view, 5> wanted{"w", "aa1", "n", "t", "ih"};
  EXPECT_EQ(misaki_of_phones(wanted), "wˈɑntɪ");
  const std::array<std::string_view, 4> bird{"b", "er1", "d", "z"};
  EXPECT_EQ(misaki_of_phones(bird), "bˈɜɹdz");
}

TEST(KokoroPhonemes, OfASentenceHaveItsMarks) {
  EXPECT_EQ(misaki_of_sentence("Hello, world!"), "həlˈO, wˈɜɹld!");
  EXPECT_EQ(misaki_of_sentence("2 cats?"), "tˈu kˈæts?");
}

TEST(UsLexicon, KnowsWordsNamesAndEndings) {
  const UsLexicon lexicon;
  EXPECT_GT(lexicon.words(), 90'000u);
  const auto said = [&](std::string_view word, Follows next = Follows::kConsonant) {
    return lexicon.find(word, next).value_or("nothing");
  };
  EXPECT_EQ(said("little"), "lˈɪTᵊl");
  EXPECT_EQ(said("hello"), said("Hello"));
  EXPECT_EQ(said("london"), said("London"));
  EXPECT_EQ(said("LITTLE"), said("little"));
  EXPECT_EQ(said("And"), "ˌænd");  // a function word that begins with a capital
  EXPECT_EQ(said("and"), "ænd");
  // The lexicon has only the stems of these words, so their endings are added by rule.
  EXPECT_EQ(said("walruses"), said("walrus") + "ᵻz");
  EXPECT_EQ(said("gizmo's"), said("gizmo") + "z");
  EXPECT_EQ(said("xylophoned"), said("xylophone") + "d");
  EXPECT_EQ(said("xylophoning"), said("xylophone") + "ɪŋ");
  EXPECT_EQ(said("rebooting"), "ɹˌibˈuTɪŋ");
  EXPECT_EQ(lexicon.find("qwrtz", Follows::kPause), std::nullopt);
  EXPECT_EQ(lexicon.find("", Follows::kPause), std::nullopt);
}

TEST(UsLexicon, SaysSmallWordsByWhatFollows) {
  EXPECT_EQ(misaki_of_sentence("The end of a day in the sun."), "ði ˈɛnd ʌv ɐ dˈA ɪn ðə sˈʌn.");
  EXPECT_EQ(misaki_of_sentence("I have to eat what I have."), "ˌI hæv tʊ ˈit wˌʌt ˌI hˈæv.");
  const UsLexicon lexicon;
  EXPECT_EQ(lexicon.find("used", Follows::kConsonant, true), "jˈust");
  EXPECT_EQ(lexicon.find("used", Follows::kConsonant, false), "jˈuzd");
}

TEST(KokoroPhonemes, WordsThatTheLexiconLacksAreReadByTheReader) {
  EXPECT_EQ(misaki_of_sentence("In 1996 it was a plonkery."),
            "ɪn nˌIntˈin nˈIndi sˈɪks ɪt wʌz ɐ plˈɑŋkəɹi.");
}

TEST(KokoroPhonemes, OfEspeakAreMisakis) {
  EXPECT_EQ(misaki_of_espeak("tʃˈaɪn", "es"), "ʧˈIn");
  EXPECT_EQ(misaki_of_espeak("tʃaɪ dʒeɪ", "it"), "ʧI ʤA");
}

struct Cutter {
  KokoroConfig config = load_config(Config::load(small_checkpoint() + "/config.json"));
  std::shared_ptr<const EnglishReader> reader = std::make_shared<const EnglishReader>();

  std::vector<Utterance> cut(const std::string& text) const {
    Script script(config, reader, "en-us", {});
    EXPECT_TRUE(script.push(text, true).ok());
    std::vector<Utterance> out(1);
    while (script.next(out.back())) out.emplace_back();
    out.pop_back();
    return out;
  }
};

TEST(KokoroScript, CutsAtSentencesAndALongFirstOneAtAComma) {
  const Cutter cutter;
  EXPECT_EQ(cutter.cut("Yes. No.").size(), 2u);
  const auto first =
      cutter.cut("When the sun came up again, the birds began to sing in the trees.");
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].ids.back(), 0);
  EXPECT_EQ(first[0].ids[first[0].ids.size() - 2], cutter.config.vocabulary.at(","));
  EXPECT_EQ(cutter.cut("Yes. When the sun came up again, the birds sang.").size(), 2u);
}

TEST(KokoroScript, KeepsTheModelsLimitAndTheBytesOfWords) {
  const Cutter cutter;
  const std::string text =
      "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
      "sixteen seventeen eighteen nineteen twenty twentyone.";
  size_t words = 0;
  for (const Utterance& utterance : cutter.cut(text)) {
    EXPECT_LE(utterance.phonemes(), cutter.config.most_phonemes());
    EXPECT_EQ(utterance.ids.front(), 0);
    for (const Utterance::Word& word : utterance.words) {
      const std::string bytes =
          text.substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
      EXPECT_EQ(bytes.find(' '), bytes.npos) << bytes;
      ++words;
    }
  }
  EXPECT_EQ(words, 21u);
  EXPECT_TRUE(cutter.cut("...").empty());
}

std::string with_places(const std::vector<Spoken>& words) {
  std::string out;
  for (const Spoken& each : words) {
    out += concat(each.space ? " " : "", each.phonemes, "[", each.begin, ",", each.end, ")");
  }
  return out;
}

TEST(KokoroPieces, StatedPronunciationsStandInTheirPlaces) {
  const std::string text = "The Kokoro, so Ltd. says.";
  const std::vector<SentenceStream::Item> items{{{.begin = 100, .end = 100 + text.size()}, text}};
  const std::vector<Saying> sayings{{.begin = 104, .end = 110, .phones = {"kˈoʊkəroʊ", {}}}};
  const std::vector<std::pair<std::string, std::string>> entries{{"Ltd", "limited now"}};
  const auto lexicon = Lexicon::of(entries).value();
  const std::vector<SaidPiece> pieces = said_pieces(items, sayings, lexicon.get(), "en-gb");
  ASSERT_EQ(pieces.size(), 5u);
  EXPECT_EQ(pieces[0].item.text, "The ");
  EXPECT_EQ(pieces[1].phonemes, "kˈOkəɹO");
  EXPECT_EQ(pieces[2].item.text, ", so ");
  EXPECT_EQ(pieces[3].item.text, "limited now");
  EXPECT_EQ(pieces[4].item.text, ". says.");
  std::vector<std::vector<Spoken>> read(4);
  read[0] = {{"ðə", 100, 103, true, false}};
  read[1] = {{",", 110, 111, false, false}, {"sˈO", 112, 114, true, true}};
  read[2] = {{"l", 115, 122, true, false}, {"n", 123, 126, true, true}};
  read[3] = {{".", 118, 119, false, false}, {"s", 120, 124, true, true}};
  const auto all = joined_pieces(pieces, std::move(read), 1);
  EXPECT_EQ(with_places(all.at(0)),
            "ðə[100,103) kˈOkəɹO[104,110),[110,111) sˈO[112,114) l[115,118) n[115,118).[118,119) "
            "s[120,124)");
  EXPECT_TRUE(said_pieces(items, {}, nullptr, "es").at(0).phonemes.empty());
}

TEST(KokoroState, WordsAndPhonesBeginWithTheirFrames) {
  const Cutter cutter;
  SpeechRequest request;
  request.say.text = "Yes, no.";
  const auto marks = [&](bool phones) {
    request.terms.phone_times = phones;
    KokoroState state(request, cutter.config,
                      Script(cutter.config, cutter.reader, "en-us", request), nullptr);
    EXPECT_TRUE(state.begin(request).ok());
    const size_t count = state.utterance().ids.size();
    state.read(std::vector<float>(count * static_cast<size_t>(2 * cutter.config.hidden)),
               std::vector<int32_t>(count, 2));
    std::vector<int32_t> codes;
    std::vector<WordMark> words;
    std::vector<PhoneMark> got;
    StepOutput out(codes, words, &got);
    state.advance({}, out);
    EXPECT_EQ(words.size(), 2u);
    EXPECT_EQ(words.back().frame, 12);
    std::string text;
    for (const PhoneMark& mark : got) text += concat(mark.phone, mark.frame, " ");
    return text;
  };
  // A stress precedes its vowel, and the comma and the space come between the words. All phones
  // sound two frames earlier than their durations say.
  EXPECT_EQ(marks(true), "j0 ɛ2 s6 n12 O14 ");
  EXPECT_EQ(marks(false), "");
}

TEST(KokoroState, TheMarkOfARiseStandsForTheFrameBeforeItsSound) {
  const Cutter cutter;
  SpeechRequest request;
  request.say.text = "a";
  request.say.sayings = {{.begin = 0, .end = 1, .phones = {"nˈoʊ↗sˈɛ", {}}}};
  KokoroState state(request, cutter.config, Script(cutter.config, cutter.reader, "es", request),
                    nullptr);
  ASSERT_TRUE(state.begin(request).ok());
  const size_t count = state.utterance().ids.size();
  EXPECT_EQ(count, 8u);  // two zeros and six letters, without the mark
  EXPECT_EQ(state.utterance().rise, 4);
  const auto width = static_cast<size_t>(2 * cutter.config.hidden);
  state.read(std::vector<float>(count * width), std::vector<int32_t>(count, 2));
  std::vector<int32_t> codes;
  std::vector<WordMark> words;
  std::vector<float> rows;
  StepOutput out(codes, words, nullptr, nullptr, {}, &rows);
  state.advance({}, out);
  for (size_t i = 0; i < 2 * count; ++i) {
    EXPECT_EQ(rows.at(i * (width + kRowParts) + width + kRises), i == 6 ? 1.f : 0.f) << i;
  }
}

TEST(KokoroVoices, AreMixedByWeight) {
  const auto a = std::make_shared<const VoicePack>(VoicePack{1, 2});
  const auto b = std::make_shared<const VoicePack>(VoicePack{4, -1});
  const Voices voices{{"af_a", a}, {"am_b", b}};
  EXPECT_EQ(mixed(voices, std::vector<float>{0, 1}), b);
  EXPECT_EQ(*mixed(voices, std::vector<float>{0.5f, 0.5f}), (VoicePack{2.5f, 0.5f}));
  EXPECT_EQ(language_of("bm_rook"), "en-gb");
  EXPECT_EQ(language_of("heart"), "");
}

TEST(Kokoro, LateTextThatNeverComesIsRefused) {
  const auto model = load({small_checkpoint(), "tiny"});
  SpeechRequest request;
  request.say.open = true;
  const auto state = open_only(*model, request);
  EXPECT_TRUE(state->append_text(" ", false).ok());
  const Status nothing = state->append_text(" ", true);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().param, "input");
}

TEST(KokoroRequests, AreRefusedWithTheReason) {
  const auto model = load({small_checkpoint(), "tiny"});
  const auto refused = [&](const std::function<void(SpeechRequest&)>& change) {
    SpeechRequest request;
    request.say.text = "Hello.";
    change(request);
    const Error fault = refusal_of(*model, request);
    return fault.param + ": " + fault.message;
  };
  expect_fault(refused([](SpeechRequest& r) { r.voice.name = "af_hawk"; }),
               "voice: the model has no voice \"af_hawk\"");
  expect_fault(refused([](SpeechRequest& r) { r.say.language = "ko"; }), "language: ");
  // The checkpoint has neither v1.0's letter for Chinese nor the bopomofo of v1.1-zh.
  expect_fault(refused([](SpeechRequest& r) { r.say.language = "zh"; }), "bopomofo");
  expect_fault(refused([](SpeechRequest& r) { r.say.text = "..."; }), "input: ");
  expect_fault(refused([](SpeechRequest& r) { r.sampling.guidance = 2.f; }), "guidance: ");
}

TEST(KokoroRequests, OfVersion11AreReadInBopomofo) {
  const CheckpointCopy copy(small_checkpoint());
  copy.replace("config.json", "\"vocab\": {", "\"vocab\": {\"ㄅ\": 1, ");
  std::filesystem::copy_file(copy.dir.path("voices/af_owl.pt"), copy.dir.path("voices/zf_001.pt"));
  const auto model = load({copy.dir.path(), "sister"});
  EXPECT_EQ(model->info().speech.default_voice, "zf_001");
  SpeechRequest request;
  request.say.text = "你好。";
  const auto opened = model->open(request);
  if (!opened.ok()) expect_fault(opened.error().message, "python3-jieba");
}

TEST(KokoroCheckpoints, AreTakenWholeOrRefused) {
  EXPECT_EQ(fault_of(small_checkpoint()), "");
  const auto changed = [](const std::string& file, const std::string& from, const std::string& to) {
    const CheckpointCopy copy(small_checkpoint());
    copy.replace(file, from, to);
    return fault_of(copy.dir.path());
  };
  expect_fault(changed("config.json", "\"hidden_dim\": 16", "\"hidden_dim\": 18"), "expected");
  expect_fault(changed("config.json", "\"hidden_dim\": 16", "\"hidden_dim\": 17"), "even number");
  expect_fault(changed("config.json", "\"n_layer\": 3", "\"n_layer\": 2"), "do not belong");
  expect_fault(changed("config.json", "\"n_layer\": 3", "\"n_layer\": 4"), "missing tensors");
  expect_fault(changed("config.json", "\"num_attention_heads\": 2", "\"num_attention_heads\": 3"),
               "num_attention_heads");
  expect_fault(changed("config.json", "\"max_dur\": 9", "\"max_dur\": 0"), "max_dur");
  expect_fault(changed("config.json", "\"gen_istft_n_fft\": 20", "\"gen_istft_n_fft\": 7"),
               "n_fft");
  expect_fault(changed("config.json", "\"n_token\": ", "\"n_token\": 9999, \"was\": "), "expected");
  // A voice of another model has another number of phonemes or another width.
  {
    const CheckpointCopy copy(small_checkpoint());
    std::filesystem::copy_file(
        SYRINX_BINARY_DIR "/parity/kokoro/golden/plain/checkpoint/voices/af_owl.pt",
        copy.dir.path("voices/af_owl.pt"), std::filesystem::copy_options::overwrite_existing);
    expect_fault(fault_of(copy.dir.path()), "af_owl.pt: expected a voice f32 [70, 1, 12]");
  }
  {
    const CheckpointCopy copy(small_checkpoint());
    copy.dir.write("voices/af_bad.pt", "PK");
    expect_fault(fault_of(copy.dir.path()), "af_bad.pt");
  }
  {
    const CheckpointCopy copy(small_checkpoint());
    std::filesystem::remove_all(copy.dir.path("voices"));
    expect_fault(fault_of(copy.dir.path()), "expected voices");
  }
  {
    const CheckpointCopy copy(small_checkpoint());
    std::filesystem::copy_file(copy.dir.path("kokoro-v1_0.pth"), copy.dir.path("other.pth"));
    expect_fault(fault_of(copy.dir.path()), "expected one *.pth, got 2");
  }
}

TEST(KokoroCheckpoints, LeavePartsToOtherProcesses) {
  LoadSpec spec{small_checkpoint(), "copy", WeightType::kQ8};
  spec.elsewhere = [](std::string_view) { return true; };
  EXPECT_NO_THROW(load(spec));
  LoadSpec dummy{small_checkpoint(), "copy", WeightType::kQ8, true};
  EXPECT_NO_THROW(load(dummy));
}

TEST(KokoroSpeech, AnUtteranceThatIsTooLongFailsItsStreamAlone) {
  const auto model = load({small_checkpoint(), "tiny"});
  const ChunkStage& stage = *model->graph().node(1).chunk;
  SpeechRequest request;
  request.say.text = "Hello.";
  const auto opened = model->open(request);
  ASSERT_TRUE(opened.ok());
  const auto stream = open_stream(stage, opened.value().sequence());
  std::vector<float> row(static_cast<size_t>(stage.in_width()), 0.f);
  float* parts = row.data() + row.size() - kRowParts;
  parts[kPhonemes] = 5, parts[kFrames] = 100'000;
  EXPECT_EQ(stage.cut(*stream, {.values = row}, 0), 1);
  std::vector<float> out(static_cast<size_t>(stage.out_width()));
  ChunkJob job{.state = stream.get(), .values = row, .fresh = 1, .out = out, .made = 1};
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  stage.run(ctx, {&job, 1});
  ASSERT_TRUE(job.fault.has_value());
  expect_fault(job.fault->message, "the limit is 60 s");
  parts[kFrames] = 3;  // the utterance has three frames, but only one has arrived
  EXPECT_EQ(stage.cut(*stream, {.values = row}, 0), 0);
}

// Measures how many words of sentences get misaki's phonemes, without checking a bound.
// KOKORO_SENTENCES names a file that tests/real/kokoro/phonemes.py wrote, with a text and its
// phonemes per line.
TEST(KokoroPhonemes, MeasuredAgainstMisakisSentences) {
  const char* path = std::getenv("KOKORO_SENTENCES");
  if (path == nullptr) GTEST_SKIP() << "KOKORO_SENTENCES names no file of sentences";
  const auto split = [](const std::string& text, char at) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);) out.push_back(part);
    return out;
  };
  const auto without_stress = [](std::string text) {
    for (const std::string_view mark : {kStress, kSecondStress}) {
      for (size_t at; (at = text.find(mark)) != text.npos;) text.erase(at, mark.size());
    }
    return text;
  };
  int count = 0, same = 0, same_sounds = 0, apart = 0;
  for (const std::string& line : split(read_file(path, 64 << 20), '\n')) {
    const std::vector<std::string> both = split(line, '\t');
    ASSERT_EQ(both.size(), 2u) << line;
    const auto want = split(both[1], ' '), got = split(misaki_of_sentence(both[0]), ' ');
    count += static_cast<int>(want.size());
    if (want.size() != got.size()) {
      ++apart;
      std::printf("%s\n  %s\n  %s\n", both[0].c_str(), both[1].c_str(),
                  misaki_of_sentence(both[0]).c_str());
      continue;
    }
    for (size_t i = 0; i < want.size(); ++i) {
      same += want[i] == got[i] ? 1 : 0;
      same_sounds += without_stress(want[i]) == without_stress(got[i]) ? 1 : 0;
      if (want[i] != got[i]) std::printf("%s, misaki %s\n", got[i].c_str(), want[i].c_str());
    }
  }
  std::printf("%d words: %d as misaki, %d but for stress; %d sentences of other lengths\n", count,
              same, same_sounds, apart);
}

}  // namespace
}  // namespace syrinx::kokoro
