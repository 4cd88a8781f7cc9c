// Tests what only Voxtral Realtime has: the silence before recordings, Mistral's layout, and the
// tokenizer. The suite of live recognisers compares the model with transformers.
#include <tuple>

#include "families/checkpoint_copy.h"
#include "families/live/fixture.h"
#include "families/voxtral_realtime/pipeline.h"
#include "text/tokens/tekken.h"

namespace syrinx::voxtral_realtime {
namespace {

std::string checkpoint_of(const std::string& name) {
  return live::golden_path("voxtral_realtime", name + "/checkpoint");
}

/// The silence before recordings is computed once, and only used for recordings that begin with it.
TEST(VoxtralRealtime, OnlySilenceIsComputedOnce) {
  for (const std::string name : {"small", "other"}) {
    const VoxtralRealtime model({checkpoint_of(name), "x"}), fresh({checkpoint_of(name), "x"});
    const std::vector<float> recording =
        live::samples_of(live::cases_of("voxtral_realtime", name)[0]);
    const auto said = [&](const VoxtralRealtime& of, bool silent) {
      live::Stream stream(of);
      if (!silent) stream.encoder.values.clear();
      stream.hear(recording, 160, true, of.info().hearing.tail);
      live::Stream* only[] = {&stream};
      live::Stream::run(of, only);
      live::Steps steps(of);
      steps.add(stream.encoder.out);
      steps.run(std::vector<size_t>{0});
      return std::pair(stream.encoder.out, steps.said[0].logits);
    };
    const auto first = said(model, true);
    EXPECT_EQ(said(model, true), first);
    EXPECT_EQ(said(model, false), said(fresh, false));
  }
}

/// Each row: a key of params.json, its value, and a part of the error.
TEST(VoxtralRealtime, UnsupportedValuesOfMistralsLayoutAreNamed) {
  const std::string audio = "/multimodal/whisper_model_args/";
  const std::string encoder = audio + "encoder_args/", sound = encoder + "audio_encoding_args/";
  const CheckpointCopy copy(checkpoint_of("original"));
  const auto fault = [&] {
    return load_fault_of([&] { VoxtralRealtime({copy.dir.path(), "x"}); });
  };
  const std::string before = slurp(copy.dir.path(kOriginal));
  EXPECT_EQ(fault(), "");
  const std::tuple<std::string, const char*, const char*> rows[] = {
      {"/tied_embeddings", "false", "only true is supported"},
      {"/ada_rms_norm_t_cond", "false", "only true is supported"},
      {"/sliding_window", "null", "only a number from 1"},
      {"/use_biases", "true", "use_biases"},
      {"/n_layers", "3", "layers.2.attention_norm.weight"},
      {audio + "downsample_args/downsample_factor", "64", "downsample_factor"},
      {encoder + "use_biases", "false", "use_biases"},
      {encoder + "causal", "false", "causal"},
      {encoder + "n_kv_heads", "1", "the number of heads"},
      {encoder + "pos_embed", "\"sinusoidal\"", "only rope is supported"},
      {encoder + "rope_theta", "null", "rope_theta"},
      {sound + "global_log_mel_max", "2", "only 1.5 is supported"},
      {sound + "num_mel_bins", "80", "num_mel_bins"}};
  for (const auto& [key, value, part] : rows) {
    auto json = nlohmann::json::parse(before);
    json[nlohmann::json::json_pointer(key)] = nlohmann::json::parse(value);
    copy.dir.write(kOriginal, json.dump());
    EXPECT_NE(fault().find(part), std::string::npos) << key << ": " << fault();
  }
}

TEST(VoxtralRealtime, TokensAndTextsOfTheTokenizer) {
  for (const std::string name : {"small", "other"}) {
    const Tokenizer words = read_tekken(checkpoint_of(name) + "/tekken.json").tokenizer;
    for (const auto& each : live::golden_of("voxtral_realtime", name)["texts"]) {
      const std::string text = each["text"];
      const auto ids = each["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(words.encode(text), ids) << text;
      EXPECT_EQ(words.decode(ids), text);
    }
  }
}

}  // namespace
}  // namespace syrinx::voxtral_realtime
