#include "io/hub_pull/transfer.h"

#include <curl/curl.h>

#include <mutex>

#include "base/error.h"
#include "io/certificates.h"

namespace syrinx {

struct Transfer::Impl {
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;
};

namespace {

struct Receiver {
  CURL* curl;
  bool ranged;
  const std::function<bool(std::string_view)>* take;
  bool wrong_range = false;
};

size_t receive(char* data, size_t one, size_t count, void* opaque) {
  auto* receiver = static_cast<Receiver*>(opaque);
  int64_t status = 0;
  curl_easy_getinfo(receiver->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200 && status != 206) return one * count;  // drops the body of an error
  if (receiver->ranged && status != 206) {
    receiver->wrong_range = true;
    return 0;
  }
  return (*receiver->take)({data, one * count}) ? one * count : 0;
}

/// Returns "https://name:port" of the last request, after redirects.
std::string origin_of(CURL* curl) {
  const char* url = nullptr;
  curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url);
  const std::string text = url == nullptr ? "" : url;
  const size_t scheme = text.find("://");
  return text.substr(0, scheme == std::string::npos ? scheme : text.find('/', scheme + 3));
}

bool never_connected(CURL* curl, CURLcode code) {
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ||
      code == CURLE_COULDNT_CONNECT) {
    return true;
  }
  double connected_s = 0;
  curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME, &connected_s);
  return code == CURLE_OPERATION_TIMEDOUT && connected_s == 0;
}

}  // namespace

Transfer::Transfer(std::string token) : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  impl_->curl = curl_easy_init();
  if (impl_->curl == nullptr) throw LoadError("libcurl cannot be initialised");
  if (!token.empty()) {  // libcurl drops the token at redirects to other hosts
    impl_->headers = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
  }
}

Transfer::~Transfer() {
  curl_slist_free_all(impl_->headers);
  curl_easy_cleanup(impl_->curl);
}

TransferResult Transfer::get(const std::string& url, int64_t from,
                             const std::function<bool(std::string_view)>& take) {
  CURL* curl = impl_->curl;
  Receiver receiver{.curl = curl, .ranged = from > 0, .take = &take};
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, impl_->headers);
  if (const std::string known = system_certificates(); !known.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, known.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "syrinx");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  // A redirect must not change from https to http.
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                   url.starts_with("https:") ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 15L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(from));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &receiver);
  const CURLcode code = curl_easy_perform(curl);
  TransferResult result;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result.status);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
  result.retry_after_s = static_cast<double>(retry_after);
  if (code != CURLE_OK) result.trouble = curl_easy_strerror(code);
  if (never_connected(curl, code)) {
    result.unreachable = true;
    result.trouble = "cannot reach " + origin_of(curl) + ": " + result.trouble;
  }
  result.cannot_continue =
      receiver.wrong_range || code == CURLE_RANGE_ERROR || (from > 0 && result.status == 416);
  if (result.cannot_continue) result.trouble = "the server cannot resume downloads";
  return result;
}

}  // namespace syrinx
