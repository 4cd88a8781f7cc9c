#include "families/opuslm/config.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "nn/llama_config.h"

namespace syrinx::opuslm {
namespace {

constexpr const char *kPlain = "opuslm", *kDialogue = "opuslm_dialogue";
constexpr int64_t kLeastSteps = 50;  // default of the authors' serving code

std::string type_of(const Config& root) {
  const auto found = root.raw().find("model_type");
  return found != root.raw().end() && found->is_string() ? found->get<std::string>() : "";
}

ControlIds load_ids(const Config& root, int64_t below) {
  const auto id = [&](const char* key) { return root.i<int32_t>(key, 0, below - 1); };
  ControlIds ids;
  ids.pad = id("pad_token_id");
  ids.end = id("eos_token_id");
  ids.system = id("system_prompt_token_id");
  ids.user = id("user_input_token_id");
  ids.assistant = id("assistant_output_token_id");
  ids.speech = id("codec_ssl_start_end_token_id");
  ids.text = id("text_bpe_start_end_token_id");
  ids.speaker = id("spk_start_end_token_id");
  ids.asr = id("codec_ssl_asr_task_token_id");
  ids.tts = id("codec_ssl_tts_task_token_id");
  ids.plain_tts = id("codec_ssl_plain_tts_task_token_id");
  ids.text_dialogue = id("text_dialogue_task_token_id");
  ids.audio_dialogue = id("audio_dialogue_task_token_id");
  root.check("pad_token_id", ids.pad == 0, "must be 0");
  return ids;
}

}  // namespace

DelayPattern ModelConfig::delays() const {
  return {
      DelayPattern::staggered(static_cast<int>(streams)), {0, ids.end, 0}, DelayDrain::kEndFrame};
}

int32_t ModelConfig::id_of(int64_t stream, int32_t choice) const {
  if (stream == 0) return choice < first_code ? choice : choice - first_code + first_word;
  return choice == 0 ? ids.pad
                     : static_cast<int32_t>(first_code + (stream - 1) * codes + choice - 1);
}

bool claims(const Config& root) {
  const std::string type = type_of(root);
  return type == kPlain || type == kDialogue;
}

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  m.dialogue = type_of(root) == kDialogue;
  m.lm = load_llama_config(root);
  m.vocab = root.i("vocab_size", 1, 1 << 24);
  m.max_positions = root.i("max_position_embeddings", 64, 1 << 24);
  m.lm.rope_positions = m.max_positions;
  m.streams = root.i("nq", 2, 64);
  const auto at = [&](const char* key) { return root.i<int32_t>(key, 0, m.vocab); };
  m.first_unit = at("ssl_token_start");
  m.first_code = at("codec_token_start");
  m.first_word = at("text_token_start");
  m.units = at("ssl_token_end") - m.first_unit;
  m.words = at("text_token_end") - m.first_word;
  const int64_t codes = at("codec_token_end") - m.first_code;
  root.check("ssl_token_end", m.units >= 1 && m.first_unit + m.units == m.first_code,
             "must be above ssl_token_start, and equal codec_token_start");
  root.check("codec_token_end",
             codes >= 1 && codes % (m.streams - 1) == 0 && m.first_code + codes == m.first_word,
             concat("must equal text_token_start, and the number of codes must "
                    "be above 0 and a multiple of ",
                    m.streams - 1, " (nq - 1)"));
  root.check("text_token_end", m.words >= 1, "must be above text_token_start");
  m.codes = codes / (m.streams - 1);
  root.same("codec_per_stream_size", m.codes, "the number of codes in the ranges of tokens");
  m.ids = load_ids(root, m.first_unit);
  m.speaker_frames = root.opt_i("speaker_prompt_length", 500, 1, 1 << 16);
  m.least_steps = root.opt_i("audio_minlen", kLeastSteps, 0, 1 << 16);
  m.sample_rate = static_cast<double>(root.opt_i("dac_sample_rate", 16000, 1000, 192000));
  m.temperature = root.opt_f<float>("audio_temperature", 0.8, 0, 100);
  m.top_k = root.opt_i<int>("audio_topk", 30, 0, 1 << 20);
  m.codec = root.opt_s("dac_hf_model_tag", "ftshijt/espnet_codec_dac_large_v1.4_360epoch");
  m.xeus = root.opt_s("xeus_hf_model_tag", "espnet/xeus");
  m.xeus_file = root.opt_s("xeus_checkpoint_filename", "model/xeus_checkpoint_new.pth");
  m.units_file = root.opt_s("km_model_filename", "model/km_opus_lm.mdl");
  m.xeus_layer = root.opt_i("xeus_layer", 18, 0, 1 << 10);
  return m;
}

}  // namespace syrinx::opuslm
