// The layout of the moshi package, which several families have: settings in config.json, sizes of
// Mimi, names of tensors. Sources: moshi:moshi/models/{loaders,lm}.py,
// moshi:moshi/modules/{transformer,gating}.py. Free functions; throw LoadError for values that are
// contradictory or not supported.
#pragma once

#include <memory>
#include <string>

#include "codec/mimi_config.h"
#include "io/json.h"
#include "io/renamed_weights.h"
#include "nn/decoder.h"

namespace syrinx::moshi {

/// Refuses options of the package that no family supports.
void check_options(const Config& c);

/// Names of a checkpoint's files, in the folder of its config.json.
struct Files {
  std::string weights, codec, tokenizer;
  std::string sizes;  ///< file of Mimi's sizes; empty: those of the published codec
};
/// Reads the names of the files. Names with a folder are a fault.
Files load_files(const Config& root);

/// Reads the sizes of the language model; its window is `context`.
DecoderConfig load_transformer(const Config& c);
/// Sets width and heads, whose keys are `heads_key` and that of the width. Checks their
/// divisibility.
void set_heads(const Config& c, const char* heads_key, int64_t width, DecoderConfig& out);
/// Returns the inner width of a gated MLP for the config's feed-forward width (gating.py).
int gated_width(int wide, int hidden);
/// Reads Mimi's sizes from files.sizes in `dir`.
MimiConfig load_mimi(const std::string& dir, const Files& files);

/// A part of a tensor's name, here and in the package.
struct Name {
  const char *ours, *theirs;
};
/// Adds the names of a stack of blocks.
void add_blocks(StoredNames& names, const std::string& ours, const std::string& theirs,
                int64_t layers, std::initializer_list<Name> parts);
/// Adds the names of the language model's blocks, of its last norm, of the tables of `codebooks`
/// codes and of the text's head.
void add_language_model(StoredNames& names, const DecoderConfig& lm, int64_t codebooks);
/// Returns whether a file has the newer names of the linears of attention.
bool has_newer_names(const WeightSource& file);
/// Replaces older names of these linears by newer ones if the file has newer ones.
void use_newer_names(const WeightSource& file, StoredNames& names);
/// Opens Mimi's file under the names of transformers' MimiModel.
std::unique_ptr<WeightSource> open_mimi(const MimiConfig& mimi, const std::string& path);

}  // namespace syrinx::moshi
