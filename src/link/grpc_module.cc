#include "link/grpc_module.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

#include "base/check.h"
#include "base/error.h"
#include "base/program_path.h"

namespace syrinx {
namespace {

constexpr const char* kFile = "libsyrinx_grpc.so";

/// Opens the module, which is never closed, because threads of gRPC keep running.
const SyrinxGrpc& open_module() {
  std::error_code none;
  const std::filesystem::path here = program_path().parent_path();
  std::string why;
  for (const std::filesystem::path& place : {here / kFile, here / "../lib/syrinx" / kFile}) {
    if (!std::filesystem::exists(place, none)) continue;
    void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library ? dlsym(library, "syrinx_grpc_1") : nullptr;
    if (symbol) return *reinterpret_cast<const SyrinxGrpc* (*)()>(symbol)();
    why = concat(" (", dlerror(), ")");
  }
  throw LoadError(concat("addresses that begin with grpc:// need ", kFile,
                         " beside the program or in ../lib/syrinx", why,
                         "; to build it: apt install libgrpc++-dev, cmake build/release, "
                         "ninja -C build/release syrinx_grpc"));
}

/// Converts the keys to the module's struct of pointers.
class KeyPointers {
 public:
  explicit KeyPointers(const std::optional<PemKeys>& keys) : given_(keys.has_value()) {
    if (keys) keys_ = {keys->certificate.c_str(), keys->key.c_str(), keys->authority.c_str()};
  }
  const SyrinxGrpcKeys* get() const { return given_ ? &keys_ : nullptr; }

 private:
  bool given_;
  SyrinxGrpcKeys keys_{};
};

using Why = std::array<char, 1024>;

}  // namespace

const GrpcModule& GrpcModule::open() {
  static const GrpcModule module(open_module());  // after an exception, the next call tries again
  return module;
}

GrpcModule::Listening GrpcModule::listen(const std::string& address, const std::string& at,
                                         const std::optional<PemKeys>& keys) const {
  Why why{};
  void* const listener =
      functions_.listen(at.c_str(), KeyPointers(keys).get(), why.data(), why.size());
  if (!listener) throw LoadError(address + ": " + why.data());
  return {functions_, listener};
}

Connected GrpcModule::connect(const std::string& address, const std::string& at,
                              const std::optional<PemKeys>& keys, double patience_s) const {
  Why why{};
  int fd = -1;
  void* const stream = functions_.connect(at.c_str(), KeyPointers(keys).get(), patience_s, &fd,
                                          why.data(), why.size());
  if (!stream) throw LoadError(address + ": " + why.data());
  Descriptor mine(fd);
  return {std::shared_ptr<void>(stream, functions_.end_stream), std::move(mine)};
}

}  // namespace syrinx
