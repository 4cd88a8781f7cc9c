#include <algorithm>
#include <array>

#include "families/bagpiper/pipeline.h"
#include "families/chatterbox/pipeline.h"
#include "families/chatterbox_turbo/pipeline.h"
#include "families/cosyvoice2/pipeline.h"
#include "families/csm/config.h"
#include "families/csm/gguf.h"
#include "families/csm/pipeline.h"
#include "families/family.h"
#include "families/finch/finch.h"
#include "families/fish_speech/config.h"
#include "families/fish_speech/pipeline.h"
#include "families/glm4_voice/config.h"
#include "families/glm4_voice/pipeline.h"
#include "families/higgs/config.h"
#include "families/higgs/pipeline.h"
#include "families/kokoro/config.h"
#include "families/kokoro/pipeline.h"
#include "families/kyutai_stt/pipeline.h"
#include "families/kyutai_tts/pipeline.h"
#include "families/llm/config.h"
#include "families/llm/gguf.h"
#include "families/llm/pipeline.h"
#include "families/model_file.h"
#include "families/moss_tts/config.h"
#include "families/moss_tts/pipeline.h"
#include "families/omnivoice/config.h"
#include "families/omnivoice/pipeline.h"
#include "families/opuslm/config.h"
#include "families/opuslm/pipeline.h"
#include "families/orpheus/config.h"
#include "families/orpheus/pipeline.h"
#include "families/piper/piper.h"
#include "families/pocket_tts/pipeline.h"
#include "families/qwen3_asr/config.h"
#include "families/qwen3_asr/pipeline.h"
#include "families/qwen3_omni/config.h"
#include "families/qwen3_omni/pipeline.h"
#include "families/qwen3_tts/config.h"
#include "families/qwen3_tts/gguf.h"
#include "families/qwen3_tts/pipeline.h"
#include "families/step_audio2/config.h"
#include "families/step_audio2/pipeline.h"
#include "families/transducer/pipeline.h"
#include "families/unfinished.h"
#include "families/vibevoice/config.h"
#include "families/vibevoice/pipeline.h"
#include "families/voxcpm2/config.h"
#include "families/voxcpm2/pipeline.h"
#include "families/voxtral_realtime/pipeline.h"
#include "families/voxtral_tts/pipeline.h"
#include "families/whisper/config.h"
#include "families/whisper/openai.h"
#include "families/whisper/pipeline.h"
#include "families/zonos/config.h"
#include "families/zonos/pipeline.h"
#include "io/file.h"

namespace syrinx {

// To add a family, include its header and add a row to this table.
std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"finch", finch::claims, finch::load, "config.json", false},
      Family{"qwen3_tts", qwen3_tts::claims, load_as<qwen3_tts::Qwen3Tts>},
      Family{"qwen3_omni", qwen3_omni::claims, load_as<qwen3_omni::Qwen3Omni>},
      Family{"qwen3_asr", qwen3_asr::claims, load_as<qwen3_asr::Qwen3Asr>},
      Family{"glm4_voice", glm4_voice::claims, load_as<glm4_voice::Glm4Voice>},
      Family{"step_audio2", step_audio2::claims, load_as<step_audio2::StepAudio2>},
      Family{"csm", csm::claims, load_as<csm::Csm>},
      Family{"fish_speech", fish_speech::claims, load_as<fish_speech::FishSpeech>},
      Family{"higgs_audio", higgs::claims, load_as<higgs::Higgs>},
      Family{"voxcpm2", voxcpm2::claims, load_as<voxcpm2::VoxCpm2>},
      Family{"pocket_tts", nullptr, load_as<pocket_tts::PocketTts>, pocket_tts::kMarker},
      Family{"vibevoice", vibevoice::claims, load_as<vibevoice::VibeVoice>},
      Family{"kyutai_tts", kyutai_tts::claims, load_as<kyutai_tts::KyutaiTts>},
      Family{"voxtral_tts", voxtral_tts::claims, load_as<voxtral_tts::VoxtralTts>,
             voxtral_tts::kMarker},
      Family{"omnivoice", omnivoice::claims, load_as<omnivoice::OmniVoice>},
      Family{"moss_tts", moss_tts::claims, load_as<moss_tts::MossTts>},
      Family{"opuslm", opuslm::claims, load_as<opuslm::OpusLm>},
      Family{"orpheus", orpheus::claims, load_as<orpheus::Orpheus>},
      Family{"zonos", zonos::claims, load_as<zonos::Zonos>},
      Family{"kokoro", kokoro::claims, kokoro::load},
      // Must come after Orpheus, because Orpheus' config is also that of a Llama.
      Family{"llm", llm::claims, load_as<llm::Llm>, "config.json", true, {llm::kGgufEnd}},
      Family{"whisper",
             whisper::claims,
             load_as<whisper::Whisper>,
             "config.json",
             true,
             {whisper::kTorchEnd, whisper::kGgmlEnd}},
      Family{"nemotron_asr", transducer::claims, load_as<transducer::Transducer>, "config.json",
             false},
      Family{"kyutai_stt", kyutai_stt::claims, load_as<kyutai_stt::KyutaiStt>},
      Family{"voxtral_realtime", voxtral_realtime::claims,
             load_as<voxtral_realtime::VoxtralRealtime>},
      Family{"voxtral_realtime", voxtral_realtime::claims_original,
             load_as<voxtral_realtime::VoxtralRealtime>, voxtral_realtime::kOriginal},
      Family{"cosyvoice2", nullptr, load_as<cosyvoice2::CosyVoice2>,
             cosyvoice2::kSecondEdition.marker},
      Family{"cosyvoice3", nullptr, load_as<cosyvoice2::CosyVoice2, cosyvoice2::kThirdEdition>,
             cosyvoice2::kThirdEdition.marker},
      Family{"bagpiper", nullptr, load_as<bagpiper::Bagpiper>, bagpiper::kMarker},
      Family{"chatterbox", nullptr, load_as<chatterbox::Chatterbox>,
             chatterbox::kEnglishEdition.marker},
      Family{"chatterbox_multilingual", nullptr,
             load_as<chatterbox::Chatterbox, chatterbox::kMultilingualEdition>,
             chatterbox::kMultilingualEdition.marker},
      Family{"chatterbox_turbo", nullptr, load_as<chatterbox_turbo::ChatterboxTurbo>,
             chatterbox_turbo::kMarker},
      Family{"piper", nullptr, piper::load, nullptr, true, {piper::kFileEnding}, piper::facts},
  };
  return kFamilies;
}

const Family* family_of_file(const std::string& path) {
  auto* load = load_as<llm::Llm>;
  if (path.ends_with(llm::kGgufEnd) && is_file(path)) {
    const GgufFile file(path);
    if (qwen3_tts::is_codec_file(file) || csm::is_part_file(file)) return nullptr;
    if (csm::claims_file(file)) load = load_as<csm::Csm>;
    if (orpheus::claims_file(file)) load = load_as<orpheus::Orpheus>;
    if (qwen3_tts::claims_file(file)) load = load_as<qwen3_tts::Qwen3Tts>;
  }
  const auto found = std::ranges::find_if(families(), [&](const Family& family) {
    return path.ends_with(llm::kGgufEnd) ? family.load == load : !family.ending_of(path).empty();
  });
  return found == families().end() ? nullptr : &*found;
}

std::span<const Unfinished> unfinished() {
  static constexpr std::array kUnfinished{
      Unfinished{opuslm::kWeightsFile, opuslm::kNeeds},
      Unfinished{opuslm::kDialogueFile, opuslm::kNeeds},
      Unfinished{pocket_tts::kPublished, pocket_tts::kNeeds},
      Unfinished{voxtral_realtime::kOriginal, voxtral_realtime::kNeeds}};
  return kUnfinished;
}

}  // namespace syrinx
