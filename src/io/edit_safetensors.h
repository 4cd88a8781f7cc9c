// For tests: a safetensors file with a header that can be changed independently of its data.
#pragma once

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/test_dir.h"

namespace syrinx {

class EditableSafetensors {
 public:
  explicit EditableSafetensors(const std::string& path) : bytes_(slurp(path)) {
    std::memcpy(&header_size_, bytes_.data(), 8);
    header_ = nlohmann::json::parse(bytes_.substr(8, header_size_));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : header_.items())
      if (name != "__metadata__") names.push_back(name);
    return names;
  }
  /// Returns the header: tensor name -> {dtype, shape, data_offsets}, and __metadata__.
  nlohmann::json& header() { return header_; }
  /// Returns the bytes of a tensor, which may be changed.
  char* data(const std::string& name) {
    return bytes_.data() + 8 + header_size_ + header_[name]["data_offsets"][0].get<size_t>();
  }
  void write(const std::string& path) const {
    std::string header = header_.dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << std::string(reinterpret_cast<const char*>(&size), 8)
                                          << header << bytes_.substr(8 + header_size_);
  }

 private:
  std::string bytes_;
  uint64_t header_size_ = 0;
  nlohmann::json header_;
};

}  // namespace syrinx
