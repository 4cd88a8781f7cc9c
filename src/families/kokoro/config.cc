#include "families/kokoro/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nn/llama_config.h"

namespace syrinx::kokoro {
namespace {

constexpr int64_t kMostWidth = 1 << 14;

AlbertSizes load_albert(const Config& c) {
  AlbertSizes a;
  a.embedding = c.opt_i("embedding_size", a.embedding, 1, kMostWidth);
  a.hidden = c.i("hidden_size", 8, kMostWidth);
  a.heads = c.i<int>("num_attention_heads", 1, 256);
  a.ffn = c.i("intermediate_size", 1, 1 << 16);
  a.layers = c.i<int>("num_hidden_layers", 1, 256);
  a.positions = c.i("max_position_embeddings", 3, 8192);
  head_size(c, "num_attention_heads", a.hidden, a.heads);
  return a;
}

GeneratorSizes load_generator(const Config& c) {
  GeneratorSizes g;
  g.channels = c.i("upsample_initial_channel", 1, kMostWidth);
  g.rates = c.ints("upsample_rates", 1, 64);
  g.rate_kernels = c.ints("upsample_kernel_sizes", 1, 256);
  g.kernels = c.ints("resblock_kernel_sizes", 1, 63);
  g.n_fft = c.i<int>("gen_istft_n_fft", 2, 1024);
  g.stft_hop = c.i<int>("gen_istft_hop_size", 1, 512);
  c.check("gen_istft_n_fft", g.n_fft % 2 == 0 && g.n_fft % g.stft_hop == 0,
          "expected an even number, a multiple of gen_istft_hop_size");
  c.check("upsample_rates",
          !g.rates.empty() && g.rates.size() <= 8 && g.rates.size() == g.rate_kernels.size(),
          "expected 1 to 8 rates, each with a kernel size");
  for (size_t i = 0; i < g.rates.size(); ++i) {
    const int64_t over = g.rate_kernels[i] - g.rates[i];
    c.check("upsample_kernel_sizes",
            over >= 0 && over % 2 == 0 && g.rate_kernels[i] <= 2 * g.rates[i],
            "expected each to exceed its rate by an even number, "
            "and to be at most twice that rate");
  }
  c.check("upsample_initial_channel", g.channels % (int64_t{1} << g.rates.size()) == 0,
          "must be divisible by 2 for each of upsample_rates");
  c.check("upsample_rates", g.hop() <= 4800, "make more than 4800 samples a frame");
  g.dilations.clear();
  const auto& lists = c.raw().at("resblock_dilation_sizes");
  c.check("resblock_dilation_sizes",
          lists.is_array() && lists.size() == g.kernels.size() && !g.kernels.empty(),
          "expected a list for each of resblock_kernel_sizes");
  for (const auto& list : lists) {
    std::vector<int64_t> dilations;
    if (list.is_array()) {
      for (const auto& item : list) {
        dilations.push_back(item.is_number_integer() ? item.get<int64_t>() : 0);
      }
    }
    const bool sound =
        dilations.size() == 3 &&
        std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d > 0 && d < 64; });
    c.check("resblock_dilation_sizes", sound, "expected lists of three numbers from 1 to 63");
    g.dilations.push_back(std::move(dilations));
  }
  for (const int64_t kernel : g.kernels) {
    c.check("resblock_kernel_sizes", kernel % 2 != 0, "expected odd numbers");
  }
  return g;
}

}  // namespace

int64_t GeneratorSizes::hop() const {
  int64_t product = stft_hop;
  for (const int64_t rate : rates) product *= rate;
  return product;
}

bool claims(const Config& root) {
  return root.has("plbert") && root.has("istftnet") && root.has("vocab");
}

KokoroConfig load_config(const Config& root) {
  KokoroConfig c;
  c.bert = load_albert(root.sub("plbert"));
  const Config generator = root.sub("istftnet");
  generator.check("resblock_dilation_sizes", generator.has("resblock_dilation_sizes"),
                  "is missing");
  c.generator = load_generator(generator);
  c.tokens = root.i("n_token", 1, 1 << 16);
  c.hidden = root.i("hidden_dim", 2, kMostWidth);
  c.style = root.i("style_dim", 1, kMostWidth);
  c.layers = root.i("n_layer", 1, 32);
  c.text_taps = root.i("text_encoder_kernel_size", 1, 63);
  c.longest = root.i("max_dur", 1, 1000);
  root.check("hidden_dim", c.hidden % 2 == 0, "expected an even number");
  root.check("text_encoder_kernel_size", c.text_taps % 2 != 0, "expected an odd number");
  for (const auto& [symbol, id] : root.map_i("vocab", 1, c.tokens - 1)) {
    c.vocabulary.emplace(symbol, static_cast<int32_t>(id));
  }
  root.check("vocab", !c.vocabulary.empty(), "expected phonemes and their ids");
  return c;
}

}  // namespace syrinx::kokoro
