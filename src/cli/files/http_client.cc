#include "cli/files/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/error.h"
#include "cli/line/exit.h"
#include "io/certificates.h"
#include "io/file.h"

namespace syrinx {
namespace {

void start_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

struct HttpClient::Impl {
  explicit Impl(HttpClientOptions wish) : options(std::move(wish)) {
    start_curl();
    curl = curl_easy_init();
    if (curl == nullptr) throw LoadError("libcurl cannot be initialised");
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");  // does not wait for "100 Continue"
    if (!options.api_key.empty()) {
      headers = curl_slist_append(headers, ("Authorization: Bearer " + options.api_key).c_str());
    }
  }
  ~Impl() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  HttpAnswer run(const std::string& url, const std::string* body,
                 const std::function<bool()>& give_up);
  static size_t on_body(char* data, size_t, size_t size, void* self);
  static size_t on_header(char* data, size_t, size_t size, void* self);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  const HttpClientOptions options;
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;
  HttpAnswer answer;  // the answer that is being read
  const std::function<bool()>* give_up = nullptr;
};

size_t HttpClient::Impl::on_body(char* data, size_t, size_t size, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  if (impl.answer.body.size() + size > impl.options.max_bytes) return 0;
  impl.answer.body.append(data, size);
  return size;
}

size_t HttpClient::Impl::on_header(char* data, size_t, size_t size, void* self) {
  HttpAnswer& answer = static_cast<Impl*>(self)->answer;
  const std::string_view line(data, size);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string value(line.substr(colon + 1));
  value.erase(0, value.find_first_not_of(" \t"));
  value.resize(value.find_last_not_of(" \t\r\n") + 1);
  if (name == "retry-after") answer.retry_after_s = std::max(0.0, std::atof(value.c_str()));
  if (name == "x-finish-reason") answer.finish_reason = value;
  if (name == "x-sample-rate") answer.sample_rate_hz = std::atoi(value.c_str());
  return size;
}

int HttpClient::Impl::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* ask = static_cast<Impl*>(self)->give_up;
  return ask != nullptr && *ask && (*ask)() ? 1 : 0;
}

HttpAnswer HttpClient::Impl::run(const std::string& url, const std::string* body,
                                 const std::function<bool()>& ask) {
  answer = {};
  give_up = &ask;
  curl_easy_reset(curl);  // resets the options; keeps connections open
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (const std::string known = system_certificates(); !known.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, known.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, std::lround(1e3 * options.connect_timeout_s));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, std::lround(1e3 * options.timeout_s));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Impl::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Impl::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Impl::on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (body != nullptr) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
  }
  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  if (code != CURLE_OK) answer.failure = curl_easy_strerror(code);
  if (code == CURLE_WRITE_ERROR) answer.failure = "the answer is too large";
  return std::move(answer);
}

HttpClient::HttpClient(HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::get(const std::string& url) { return impl_->run(url, nullptr, {}); }

HttpAnswer HttpClient::post_json(const std::string& url, const std::string& body,
                                 const std::function<bool()>& give_up) {
  return impl_->run(url, &body, give_up);
}

std::string read_client_key(const std::string& file) {
  constexpr size_t kMaxKeyFileBytes = 4096;
  if (!file.empty()) {
    const std::string text = read_file(file, kMaxKeyFileBytes);
    const std::string key = text.substr(0, text.find_first_of("\r\n"));
    if (key.empty()) load_fault(file, "", "expected a key in its first line");
    return key;
  }
  for (const char* name : {"SYRINX_API_KEY", "OPENAI_API_KEY"}) {
    if (const char* key = std::getenv(name); key != nullptr && *key) return key;
  }
  return "";
}

std::string base_url(const std::string& text) {
  std::string url = text.find("://") == std::string::npos ? "http://" + text : text;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw UsageError("'" + text + "' is not an http URL");
  }
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  if (url.ends_with(':') || url.find("://") + 3 >= url.size()) {
    throw UsageError("'" + text + "' has no host");
  }
  return url;
}

}  // namespace syrinx
