// Whisper as whisper.cpp keeps it (ggml-base.bin): sizes, the bytes of its tokens, and tensors
// under the names of the authors' package, of which some may have few bits. Nothing in the file is
// trusted; faults are LoadErrors. Const after construction.
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
  std::vector<int64_t> sizes;  ///< outermost first
  uint32_t type_number = 0;
  const GgmlType* type = nullptr;  ///< null: unknown; its bytes cannot be skipped
  std::string_view data;           ///< at any address

  std::string str() const;
};

/// One open file; tensors are views into it.
class GgmlFile {
 public:
  explicit GgmlFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// By the names that the authors' `dims` has: n_mels, n_vocab, ...
  const std::map<std::string, int64_t>& sizes() const { return sizes_; }
  /// The bytes of each rank; special tokens are not among them.
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::map<std::string, GgmlTensor>& tensors() const { return tensors_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, int64_t> sizes_;
  std::vector<std::string> tokens_;
  std::map<std::string, GgmlTensor> tensors_;
};

/// Tensors in few bits are f32 and exact. The latest eight of the copied tensors are kept: a layer
/// packs its tensors before the next one takes any.
std::unique_ptr<WeightSource> ggml_weights(std::shared_ptr<const GgmlFile> file);

}  // namespace syrinx::whisper
