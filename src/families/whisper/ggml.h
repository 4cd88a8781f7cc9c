// Whisper in whisper.cpp's format (ggml-base.bin): sizes, the bytes of its tokens, and tensors with
// the names of the authors' package, some of them quantized. Everything in the file is checked;
// faults are LoadErrors. Const after construction. Layout:
// ggml-org/whisper.cpp:models/convert-pt-to-ggml.py.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/ggml_types.h"
#include "io/weights.h"

namespace syrinx::whisper {

/// A tensor of a ggml file.
struct GgmlTensor {
  std::vector<int64_t> sizes;  ///< outermost dimension first
  uint32_t type_number = 0;
  const GgmlType* type = nullptr;  ///< not null in an opened file: an unknown type is a fault
  std::string_view data;           ///< stored values, not aligned

  std::string str() const;
};

/// An open file. Its tensors are views into it.
class GgmlFile {
 public:
  explicit GgmlFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// Returns the sizes under their names in the authors' `dims`: n_mels, n_vocab, ...
  const std::map<std::string, int64_t>& sizes() const { return sizes_; }
  /// Returns the bytes of each token, by rank; without special tokens.
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::map<std::string, GgmlTensor>& tensors() const { return tensors_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, int64_t> sizes_;
  std::vector<std::string> tokens_;
  std::map<std::string, GgmlTensor> tensors_;
};

/// Returns the file's tensors. Unpacks quantized tensors exactly to f32. Keeps the latest eight
/// copies, because a layer packs its tensors before the next layer reads any.
std::unique_ptr<WeightSource> ggml_weights(std::shared_ptr<const GgmlFile> file);

}  // namespace syrinx::whisper
