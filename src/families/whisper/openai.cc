#include "families/whisper/openai.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "families/whisper/ggml.h"
#include "io/file.h"
#include "io/renamed_weights.h"
#include "io/torch_pickle.h"
#include "text/tokens/pre_tokenizer.h"

namespace syrinx::whisper {
namespace {

using Sizes = std::map<std::string, int64_t>;

/// Languages in the order of their ids. A smaller vocabulary has only the first languages.
constexpr std::array<std::string_view, 100> kLanguages{
    "en", "zh", "de", "es",  "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv",
    "it", "id", "hi", "fi",  "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no",
    "th", "ur", "hr", "bg",  "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr",
    "az", "sl", "kn", "et",  "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",
    "gl", "mr", "pa", "si",  "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu",
    "am", "yi", "lo", "uz",  "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
    "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};
// Numbers of special ids: timestamps, and marks other than languages.
constexpr int64_t kTimestampIds = 1501, kMarks = 8;

/// A part of a tensor's name, here and in the authors' package.
struct OpenAiName {
  const char* ours;
  const char* theirs;
};
constexpr OpenAiName kOpenAiStack[] = {{"conv1.weight", "conv1.weight"},
                                       {"conv1.bias", "conv1.bias"},
                                       {"conv2.weight", "conv2.weight"},
                                       {"conv2.bias", "conv2.bias"},
                                       {"embed_positions.weight", "positional_embedding"},
                                       {"embed_tokens.weight", "token_embedding.weight"}};
constexpr OpenAiName kOpenAiLayer[] = {{"self_attn.q_proj", "attn.query"},
                                       {"self_attn.k_proj", "attn.key"},
                                       {"self_attn.v_proj", "attn.value"},
                                       {"self_attn.out_proj", "attn.out"},
                                       {"self_attn_layer_norm", "attn_ln"},
                                       {"encoder_attn.q_proj", "cross_attn.query"},
                                       {"encoder_attn.k_proj", "cross_attn.key"},
                                       {"encoder_attn.v_proj", "cross_attn.value"},
                                       {"encoder_attn.out_proj", "cross_attn.out"},
                                       {"encoder_attn_layer_norm", "cross_attn_ln"},
                                       {"fc1", "mlp.0"},
                                       {"fc2", "mlp.2"},
                                       {"final_layer_norm", "mlp_ln"}};

/// Maps names in transformers to the names in the package, which follow `prefix`.
StoredNames names_of(const ModelConfig& config, const std::string& prefix) {
  StoredNames out;
  for (const bool encodes : {true, false}) {
    const std::string stack = encodes ? "encoder." : "decoder.", ours = "model." + stack;
    for (const OpenAiName& name : kOpenAiStack)
      out[ours + name.ours] = prefix + stack + name.theirs;
    for (const char* kind : {"weight", "bias"}) {
      out[concat(ours, "layer_norm.", kind)] =
          concat(prefix, stack, encodes ? "ln_post." : "ln.", kind);
      const int64_t layers = encodes ? config.encoder.layers : config.layers;
      for (int64_t i = 0; i < layers; ++i) {
        for (const OpenAiName& name : kOpenAiLayer)
          out[concat(ours, "layers.", i, ".", name.ours, ".", kind)] =
              concat(prefix, stack, "blocks.", i, ".", name.theirs, ".", kind);
      }
    }
  }
  return out;
}

ModelConfig config_of(const Sizes& sizes, const std::string& path) {
  const auto size = [&](const char* name) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) load_fault(path, concat("dims.", name), "is missing");
    return found->second;
  };
  if (size("n_audio_state") != size("n_text_state")) {
    load_fault(path, "dims.n_text_state",
               concat("expected ", size("n_audio_state"), ", as n_audio_state, got ",
                      size("n_text_state")));
  }
  const nlohmann::json json = {{"model_type", "whisper"},
                               {"num_mel_bins", size("n_mels")},
                               {"d_model", size("n_audio_state")},
                               {"max_source_positions", size("n_audio_ctx")},
                               {"encoder_layers", size("n_audio_layer")},
                               {"encoder_attention_heads", size("n_audio_head")},
                               {"encoder_ffn_dim", 4 * size("n_audio_state")},
                               {"decoder_layers", size("n_text_layer")},
                               {"decoder_attention_heads", size("n_text_head")},
                               {"decoder_ffn_dim", 4 * size("n_text_state")},
                               {"vocab_size", size("n_vocab")},
                               {"max_target_positions", size("n_text_ctx")}};
  return load_model_config(Config::parse(json.dump(), path));
}

/// Returns the special tokens, except timestamps. They follow `ranks` ordinary tokens.
std::vector<AddedToken> specials_of(int64_t ranks, int64_t vocab, const std::string& path) {
  const int64_t languages = vocab - ranks - kTimestampIds - kMarks;
  if (languages < 1 || languages > std::ssize(kLanguages)) {
    load_fault(path, "",
               concat("a vocabulary of ", vocab, " ids has no room for ", ranks,
                      " ordinary ones, 1 to 100 languages and ", kTimestampIds + kMarks, " marks"));
  }
  std::vector<std::string> texts{"<|endoftext|>", "<|startoftranscript|>"};
  for (int64_t i = 0; i < languages; ++i)
    texts.push_back(concat("<|", kLanguages[static_cast<size_t>(i)], "|>"));
  for (const char* mark :
       {"translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"})
    texts.push_back(concat("<|", mark, "|>"));
  std::vector<AddedToken> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    AddedToken token;
    token.id = static_cast<int32_t>(ranks + static_cast<int64_t>(i));
    token.content = texts[i];
    token.special = true;
    out.push_back(std::move(token));
  }
  return out;
}

/// Returns the ids of symbols that are written but never spoken.
std::vector<int64_t> not_spoken(const Tokenizer& tokenizer) {
  constexpr std::string_view kSingle = "\"#()*+/:;<=>@[\\]^_`{|}~";
  std::vector<std::string> symbols;
  for (const char c : kSingle) symbols.emplace_back(1, c);
  for (const char* each :
       {"「", "」",  "『", "』", "<<",  ">>",  "<<<", ">>>", "--", "---", "-(", "-[",
        "('", "(\"", "((", "))", "(((", ")))", "[[",  "]]",  "{{", "}}",  "♪♪", "♪♪♪"})
    symbols.emplace_back(each);
  const size_t plain = symbols.size();  // later symbols also add the first of several ids
  for (const char* each : {"♩", "♪", "♫", "♬", "♭", "♮", "♯"}) symbols.emplace_back(each);
  std::set<int64_t> out{tokenizer.encode(" -").front(), tokenizer.encode(" '").front()};
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (const std::string& text : {symbols[i], " " + symbols[i]}) {
      const std::vector<int32_t> ids = tokenizer.encode(text, false);
      if (ids.size() == 1 || i >= plain) out.insert(ids.front());
    }
  }
  return {out.begin(), out.end()};
}

Generation generation_of(const Tokenizer& tokenizer, const ModelConfig& model,
                         const std::string& path) {
  const auto id = [&](const char* mark) { return tokenizer.need_id(concat("<|", mark, "|>")); };
  std::vector<int64_t> suppressed = not_spoken(tokenizer);
  for (const char* mark :
       {"transcribe", "translate", "startoftranscript", "startofprev", "startoflm", "nospeech"})
    suppressed.push_back(id(mark));
  std::sort(suppressed.begin(), suppressed.end());
  nlohmann::json g = {{"decoder_start_token_id", id("startoftranscript")},
                      {"eos_token_id", id("endoftext")},
                      {"no_timestamps_token_id", id("notimestamps")},
                      {"prev_sot_token_id", id("startofprev")},
                      {"suppress_tokens", suppressed},
                      {"begin_suppress_tokens", {tokenizer.encode(" ").front(), id("endoftext")}},
                      {"is_multilingual", model.vocab != kEnglishVocab}};
  if (model.vocab != kEnglishVocab) {
    for (const std::string_view language : kLanguages) {
      const std::string token = concat("<|", language, "|>");
      if (const auto found = tokenizer.id(token)) g["lang_to_id"][token] = *found;
    }
    g["task_to_id"] = {{"transcribe", id("transcribe")}, {"translate", id("translate")}};
  }
  return load_generation(Config::parse(g.dump(), path), model);
}

/// Opens the vocabulary file in the directory of a .pt file.
Tokenizer tokenizer_beside(const std::string& path, int64_t vocab) {
  const size_t slash = path.rfind('/');
  const std::string dir = slash == path.npos ? "." : path.substr(0, slash);
  const char* name = vocab == kEnglishVocab ? "gpt2.tiktoken" : "multilingual.tiktoken";
  const std::string ranks = join_path(dir, name);
  if (is_file(join_path(dir, "tokenizer.json")) && !is_file(ranks)) return Tokenizer::load(dir);
  if (!is_file(ranks)) {
    load_fault(path, "",
               concat("has no vocabulary; put it into the same folder: ", name,
                      " of the package openai-whisper (whisper/assets), or tokenizer.json"));
  }
  const Tokenizer plain = Tokenizer::from_tiktoken(ranks, kGpt2Pattern, "");
  return Tokenizer::from_tiktoken(ranks, kGpt2Pattern, "", specials_of(plain.size(), vocab, ranks));
}

OpenAiModel open_torch(const std::string& path) {
  constexpr std::string_view kDims = "dims.";
  const TorchPickle file(path);
  Sizes sizes;
  for (const auto& [name, number] : file.numbers())
    if (name.starts_with(kDims)) sizes[name.substr(kDims.size())] = number;
  const ModelConfig config = config_of(sizes, path);
  Tokenizer tokenizer = tokenizer_beside(path, config.vocab);
  Generation generation = generation_of(tokenizer, config, path);
  return {config, std::move(generation), std::move(tokenizer),
          renamed(open_weights(path), names_of(config, "model_state_dict."))};
}

OpenAiModel open_ggml(const std::string& path) {
  const auto file = std::make_shared<const GgmlFile>(path);
  const ModelConfig config = config_of(file->sizes(), path);
  const auto ranks = static_cast<int64_t>(file->tokens().size());
  Tokenizer tokenizer = Tokenizer::from_ranks(file->tokens(), path, kGpt2Pattern,
                                              specials_of(ranks, config.vocab, path));
  Generation generation = generation_of(tokenizer, config, path);
  return {config, std::move(generation), std::move(tokenizer),
          renamed(ggml_weights(file), names_of(config, ""))};
}

}  // namespace

OpenAiModel open_openai(const std::string& path) {
  return path.ends_with(kTorchEnd) ? open_torch(path) : open_ggml(path);
}

}  // namespace syrinx::whisper
