// Whisper in whisper.cpp's format (ggml-base.bin): sizes, the bytes of its tokens, and tensors
// under the names of the authors' package, some of them quantized. Nothing in the file is trusted;
// faults are LoadErrors. Const after construction.
// Layout: ggml-org/whisper.cpp:models/convert-pt-to-ggml.py.
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

/// A tensor of such a file.
struct GgmlTensor {
  std::vector<int64_t> sizes;  ///< sizes, outermost first
  uint32_t type_number = 0;
  const GgmlType* type = nullptr;  ///< null: unknown; its bytes cannot be skipped
  std::string_view data;           ///< the numbers, not aligned

  std::string str() const;
};

/// One open file; tensors are views into it.
class GgmlFile {
 public:
  explicit GgmlFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// Returns the sizes under their names in the authors' `dims`: n_mels, n_vocab, ...
  const std::map<std::string, int64_t>& sizes() const { return sizes_; }
  /// Returns the bytes of each rank's token; special tokens are not included.
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
