#include "families/qwen3_omni/pipeline.h"

#include <algorithm>

#include "audio/resampler.h"
#include "base/ascii.h"
#include "base/check.h"
#include "families/loading/checkpoint.h"
#include "families/loading/describe.h"
#include "families/loading/tokenizer.h"
#include "families/qwen3_omni/talker_sequence.h"
#include "families/spoken/spoken_model.h"
#include "io/file.h"
#include "model/past_context.h"

namespace syrinx::qwen3_omni {
namespace {

constexpr const char* kDefaultVoice = "ethan";  // default of the authors' code
constexpr int kSpokenIds = 1024;                // default limit of ids of an answer with audio
constexpr double kHearsSeconds = 300;           // longest sum of all recordings of a request
constexpr ChunkPolicy kCode2WavPolicy{.initial = 1, .steady = 4};  // as for Qwen3-TTS
constexpr size_t kHeadIds = 3;                                     // <|im_start|> assistant \n

Error refused(std::string what, const char* param) {
  return {ErrorCode::kUnsupported, std::move(what), param};
}

/// Reads the thinker's sampling. It is greedy unless the checkpoint states otherwise.
llm::Generation generation_of(const std::string& dir, const Config& root,
                              const Tokenizer& tokenizer, const ModelConfig& config) {
  llm::Generation out = llm::load_generation(dir, root, tokenizer);
  out.ends.push_back(config.text.im_end);
  std::sort(out.ends.begin(), out.ends.end());
  out.ends.erase(std::unique(out.ends.begin(), out.ends.end()), out.ends.end());
  const std::string path = join_path(dir, "generation_config.json");
  if (!is_file(path) || !Config::load(path).opt_b("do_sample", false)) out.sampling.temperature = 0;
  return out;
}

}  // namespace

Qwen3Omni::Qwen3Omni(const LoadSpec& spec) {
  const Config root = Config::load(join_path(spec.dir, "config.json"));
  config_ = load_model_config(root);
  Tokenizer tokenizer = open_tokenizer(spec);
  generation_ = generation_of(spec.dir, root, tokenizer, config_);
  prompter_ = std::make_unique<llm::Prompter>(spec.dir, std::move(tokenizer),
                                              config_.thinker.max_positions - 1,
                                              ChatTemplate::Of::kProcessor);
  const Weights weights(weights_at(spec, spec.dir));
  weights.build([&] { networks_ = std::make_unique<Networks>(config_, weights, spec); });
  move_networks(spec, "tower", networks_->tower, "thinker", *networks_->thinker);
  if (config_.speaks)
    move_networks(spec, "talker", *networks_->talker, "code2wav", *networks_->codec);
  join();
  describe(spec);
}

void Qwen3Omni::join() {
  tower_ = std::make_unique<TowerStage>(networks_->tower);
  const FrameType text{Flow::kText}, ids{Flow::kIds}, rows{Flow::kRows, config_.thinker.lm.hidden};
  enum { kTower, kThinker, kTalker, kCode2Wav };
  std::vector<Node> nodes{
      {.name = "tower", .chunk = tower_.get(), .in = {}, .out = {}},
      {.name = "thinker", .ar = networks_->thinker.get(), .in = {text, rows}, .out = {text}}};
  std::vector<Edge> edges{{.from = {kClient}, .to = {kTower}, .policy = TowerStage::kPolicy},
                          {.from = {kClient}, .to = {kThinker, 0}},
                          {.from = {kTower}, .to = {kThinker, ThinkerSequence::kHearing}},
                          {.from = {kThinker, 0}, .to = {kClient}}};
  if (config_.speaks) {
    code2wav_ = std::make_unique<CodecStage<Qwen3Codec>>(
        std::shared_ptr<const Qwen3Codec>(networks_, &*networks_->codec));
    nodes[kThinker].out = {text, rows, ids};
    nodes.push_back({.name = "talker",
                     .ar = networks_->talker.get(),
                     .in = {rows, ids},
                     .out = {code2wav_->in()}});
    nodes.push_back({.name = "code2wav", .chunk = code2wav_.get(), .in = {}, .out = {}});
    edges.push_back({.from = {kThinker, 1}, .to = {kTalker, TalkerSequence::kHearing}});
    edges.push_back({.from = {kThinker, 2}, .to = {kTalker, TalkerSequence::kText}});
    edges.push_back({.from = {kTalker}, .to = {kCode2Wav}, .policy = kCode2WavPolicy});
    edges.push_back({.from = {kCode2Wav}, .to = {kClient}});
  }
  graph_ = {std::move(nodes), std::move(edges)};
}

void Qwen3Omni::describe(const LoadSpec& spec) {
  name("qwen3_omni", spec, "Apache-2.0");
  info_.writes = true;
  info_.speaks = config_.speaks;
  info_.hearing.seconds = kHearsSeconds;
  info_.writing.positions = config_.thinker.max_positions;
  info_.hearing.ahead = {
      static_cast<double>(networks_->tower.chunk_samples() * networks_->tower.window_chunks()) /
      Qwen3AudioTower::kSampleRate};
  const Networks& n = *networks_;
  const Qwen3AudioConfig& a = config_.audio;
  info_.parts = {
      {"audio tower",
       concat(a.layers, " layers, width ", a.width, ", windows of ", a.window / 100, " s"),
       n.tower.bytes()},
      {"thinker", describe_decoder(config_.thinker.lm), n.thinker->bytes()},
      {"table", concat(config_.thinker.vocab, " ids x ", config_.thinker.lm.hidden),
       n.thinker->table_bytes()}};
  if (!config_.speaks) return;
  const Qwen3CodecConfig& codec = config_.codec;
  set_rates(info_, codec.sample_rate, codec.hop());
  for (const auto& [name, id] : config_.talker.speakers)
    info_.speech.voices.push_back({name, "named speaker"});
  const auto& speakers = config_.talker.speakers;
  if (!speakers.empty())
    info_.speech.default_voice =
        speakers.contains(kDefaultVoice) ? kDefaultVoice : speakers.begin()->first;
  info_.parts.push_back({"talker", describe_decoder(config_.talker.decoder), n.talker->bytes()});
  info_.parts.push_back({"code predictor", describe_decoder(config_.talker.predictor.decoder),
                         n.talker->inner_bytes()});
  info_.parts.push_back({"code2wav", describe_codec(codec), n.codec->bytes()});
}

Result<int32_t> Qwen3Omni::speaker(const SpeechRequest& request) const {
  const std::string name =
      lower_ascii(request.voice.name.empty() ? info_.speech.default_voice : request.voice.name);
  const auto found = config_.talker.speakers.find(name);
  if (found == config_.talker.speakers.end()) return unknown_voice(info_, request.voice.name);
  return found->second;
}

/// Returns the prompt for reading `text` aloud: a user's turn with the text, then the same text as
/// the answer.
Result<ChatPrompt> Qwen3Omni::reading_aloud(const std::string& text) const {
  const Tokenizer& tokenizer = prompter_->tokenizer();
  const std::vector<int32_t> said = tokenizer.encode(text, false), line = tokenizer.encode("\n");
  if (Status fault = check_aloud(said, kSpokenIds); !fault) return fault.error();
  ChatPrompt prompt;
  prompt.said = said;
  const auto add = [&](const std::vector<int32_t>& ids) {
    prompt.ids.insert(prompt.ids.end(), ids.begin(), ids.end());
  };
  const TextIds& t = config_.text;
  add({t.im_start, t.user}), add(line), add(said), add({t.im_end}), add(line);
  add({t.im_start, t.assistant}), add(line);
  return prompt;
}

Result<ChatPrompt> Qwen3Omni::prompt_of(const SpeechRequest& request) const {
  if (!request.writing.chat && !request.writing.text_only) return reading_aloud(request.say.text);
  auto ids = request.writing.chat ? prompter_->of_chat(*request.writing.chat)
                                  : prompter_->of_text(request.say.text);
  if (!ids.ok()) return ids.error();
  ChatPrompt prompt;
  prompt.ids = ids.take();
  return prompt;
}

/// Replaces the audio id of each recording by one audio id for each row of the recording.
Status Qwen3Omni::place_recordings(const std::vector<std::vector<float>>& recordings,
                                   ChatPrompt& prompt) const {
  std::vector<int32_t> ids;
  for (const int32_t id : prompt.ids) {
    const size_t number = prompt.heard.size();
    if (id != config_.text.audio || number >= recordings.size()) {
      ids.push_back(id);
      if (id != config_.text.audio) continue;
      return refused(
          "the chat template has more places for recordings than the request has recordings",
          "messages");
    }
    const std::vector<float>& samples = recordings[number];
    const int64_t rows = networks_->tower.count(std::ssize(samples));
    if (rows == 0) {
      return Error{
          ErrorCode::kInvalid,
          concat("recording ", number + 1, " is too short: ", samples.size(), " samples at 16 kHz"),
          "messages"};
    }
    const MelExtremes extremes = networks_->tower.extremes(samples);
    std::vector<uint64_t> keys = networks_->tower.keys(samples, extremes);
    for (size_t window = 0; window < keys.size(); ++window) {
      append_row_keys(
          keys[window],
          networks_->tower.window_rows(static_cast<int64_t>(window), std::ssize(samples)),
          prompt.keys);
    }
    prompt.heard.push_back({std::ssize(samples), rows, extremes.loudest, std::move(keys)});
    for (int64_t row = 0; row < rows; ++row) {
      prompt.places.push_back(static_cast<int32_t>(ids.size()));
      ids.push_back(id);
    }
  }
  if (prompt.heard.size() < recordings.size())
    return refused("the chat template has places for fewer recordings than the request has",
                   "messages");
  prompt.ids = std::move(ids);
  return ok_status();
}

Status Qwen3Omni::check_prompt(const ChatPrompt& prompt, bool speaks) const {
  const TextIds& t = config_.text;
  const std::vector<int32_t>& ids = prompt.ids;
  for (const int32_t id : ids) {
    if (id == t.image || id == t.video)
      return refused("this model does not accept pictures or video", "messages");
    if (id >= config_.thinker.vocab)
      return refused("the text has a token that the model does not know", "messages");
  }
  const bool heads = ids.size() > kHeadIds && ids[ids.size() - kHeadIds] == t.im_start &&
                     ids[ids.size() - kHeadIds + 1] == t.assistant;
  if (speaks && !heads)
    return refused("the chat template does not end with the beginning of an answer", "messages");
  if (std::ssize(ids) < config_.thinker.max_positions) return ok_status();
  return past_context(config_.thinker.max_positions, std::ssize(ids), "messages");
}

Result<Opened> Qwen3Omni::open(const SpeechRequest& request) const {
  const bool speaks = config_.speaks && !request.writing.text_only;
  if (!config_.speaks && !request.writing.chat && !request.writing.text_only)
    return refused("this checkpoint writes text and does not speak", "input");
  std::vector<std::vector<float>> recordings;
  for (const auto& recording : request.writing.recordings) {
    recordings.push_back(resampled(recording->samples, recording->sample_rate,
                                   Qwen3AudioTower::kSampleRate, Resampling::kSoxr));
  }
  Result<ChatPrompt> made = prompt_of(request);
  if (!made.ok()) return made.error();
  ChatPrompt prompt = made.take();
  if (Status fault = place_recordings(recordings, prompt); !fault) return fault.error();
  if (Status fault = check_prompt(prompt, speaks); !fault) return fault.error();

  Opened opened;
  for (const std::vector<float>& recording : recordings) {
    append_frames(recording, tower_->in_width(), opened.samples);
  }
  SpeechRequest answer = request;
  answer.terms.max_frames = 0;  // the talker applies this bound instead
  // Rows of recordings that are sent to the talker have no keys, so they always run.
  if (speaks) prompt.keys.clear();
  if (speaks && answer.writing.max_tokens == 0) answer.writing.max_tokens = kSpokenIds;
  // If a text is read aloud, only the talker's codes are sampled.
  const bool reads = !prompt.said.empty();
  if (reads) answer.writing.max_tokens = static_cast<int>(prompt.said.size()) + 1;
  const SampleParams sampling = reads ? asked(kTalkerSampling, request) : kTalkerSampling;
  std::unique_ptr<Sequence> talker;
  if (speaks) {
    Result<int32_t> voice = speaker(request);
    if (!voice.ok()) return voice.error();
    talker = std::make_unique<TalkerSequence>(config_, prompt.ids, voice.value(), sampling,
                                              request.terms.max_frames, request.terms.ignore_stop);
  }
  opened.sequences.push_back(std::make_unique<ThinkerSequence>(
      config_, generation_, prompter_->tokenizer(), answer, std::move(prompt), speaks));
  if (config_.speaks) opened.sequences.push_back(std::move(talker));
  return opened;
}

}  // namespace syrinx::qwen3_omni
