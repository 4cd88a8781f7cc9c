#include "link/transport.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "io/file.h"
#include "link/grpc_module.h"

namespace syrinx {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr size_t kMostKeys = size_t{1} << 20;

std::string host_and_port(const std::string& address) {
  const std::string at = address.substr(kScheme.size());
  const size_t colon = at.rfind(':');
  const std::string_view port = colon == at.npos ? "" : std::string_view(at).substr(colon + 1);
  const bool number = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == port.npos &&
                      std::stoi(std::string(port)) <= 65535;
  if (!number || colon == 0 || at.find_first_of("/, ") != at.npos) {
    throw LoadError(address + ": expected grpc://HOST:PORT");
  }
  return at;
}

bool is_this_host(const std::string& at) {
  const std::string host = at.substr(0, at.rfind(':'));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

/// Returns the contents of the key files. Empty means no TLS, which is allowed only on this host.
std::optional<PemKeys> pem_of(const std::string& address, const StageKeys& keys) {
  const int given = !keys.certificate.empty() + !keys.key.empty() + !keys.authority.empty();
  if (given == 3) {
    return PemKeys{read_file(keys.certificate, kMostKeys), read_file(keys.key, kMostKeys),
                   read_file(keys.authority, kMostKeys)};
  }
  if (given == 0 && is_this_host(host_and_port(address))) return std::nullopt;
  throw LoadError(address + (given == 0
                                 ? ": links between hosts need keys: --stage-cert, --stage-key "
                                   "and --stage-ca"
                                 : ": --stage-cert, --stage-key and --stage-ca belong together"));
}

class SocketListener : public StageListener {
 public:
  explicit SocketListener(const std::string& path) : path_(path), socket_(path) {}
  int get() const override { return socket_.get(); }
  Connected accept() override { return {{}, socket_.accept()}; }
  std::string address() const override { return path_; }

 private:
  std::string path_;
  ListeningSocket socket_;
};

class GrpcListener : public StageListener {
 public:
  GrpcListener(const std::string& address, const StageKeys& keys)
      : host_(host_and_port(address)),
        inner_(GrpcModule::open().listen(address, host_, pem_of(address, keys))) {
    host_.resize(host_.rfind(':'));
  }
  int get() const override { return inner_.ready(); }
  Connected accept() override { return {{}, inner_.accept()}; }
  std::string address() const override { return concat(kScheme, host_, ":", inner_.port()); }

 private:
  std::string host_;
  GrpcModule::Listening inner_;
};

}  // namespace

bool is_between_hosts(const std::string& address) { return address.starts_with(kScheme); }

std::unique_ptr<StageListener> listen_at(const std::string& address, const StageKeys& keys) {
  if (!is_between_hosts(address)) return std::make_unique<SocketListener>(address);
  return std::make_unique<GrpcListener>(address, keys);
}

void check_address(const std::string& address, const StageKeys& keys) {
  if (!is_between_hosts(address)) return;
  host_and_port(address);
  pem_of(address, keys);
  GrpcModule::open();
}

Connected connect_at(const std::string& address, const StageKeys& keys, double patience_s) {
  if (!is_between_hosts(address)) return {{}, connect_to(address)};
  return GrpcModule::open().connect(address, host_and_port(address), pem_of(address, keys),
                                    patience_s);
}

}  // namespace syrinx
