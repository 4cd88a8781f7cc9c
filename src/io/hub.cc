#include "io/hub.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"

namespace syrinx {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Returns whether a part of a path is a plain name, which cannot lead out of the folder.
bool is_plain(const std::string& part) {
  return !part.empty() && part.size() <= 128 && part[0] != '.' &&
         std::all_of(part.begin(), part.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::vector<std::string> directories(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator each(path, error), end; !error && each != end;
       each.increment(error))
    if (each->is_directory(error)) out.push_back(each->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string checked(const std::string& directory, const std::vector<std::string>& markers) {
  std::string names;
  for (const std::string& marker : markers) {
    if (is_file(join_path(directory, marker))) return directory;
    names += (names.empty() ? "" : " or ") + marker;
  }
  load_fault(directory, "", concat("expected a model directory that contains ", names));
}

}  // namespace

HubName parse_hub_name(const std::string& model) {
  HubName out;
  const size_t at = model.find('@'), slash = model.find('/');
  const std::string name = model.substr(0, at);
  if (slash >= name.size()) return {};
  if (at != std::string::npos) out.revision = model.substr(at + 1);
  out.name = name.substr(slash + 1);
  if (!is_plain(name.substr(0, slash)) || !is_plain(out.name)) return {};
  for (size_t begin = 0; at != std::string::npos && begin <= out.revision.size();) {
    const size_t end = std::min(out.revision.find('/', begin), out.revision.size());
    // Checks each part, because "refs/pr/1" is a valid revision.
    if (!is_plain(out.revision.substr(begin, end - begin))) return {};
    begin = end + 1;
  }
  out.organisation = name.substr(0, slash);
  return out;
}

std::string hub_folder(const std::string& cache, const HubName& name) {
  return join_path(cache, "models--" + name.organisation + "--" + name.name);
}

std::string find_snapshot(const std::string& root, const std::string& revision) {
  const std::string ref = root + "/refs/" + (revision.empty() ? "main" : revision);
  if (is_file(ref)) {
    std::string hash = read_file(ref, 1024);
    while (!hash.empty() && (hash.back() == '\n' || hash.back() == ' ')) hash.pop_back();
    if (!is_plain(hash)) load_fault(ref, "", "expected the name of a snapshot, got " + shown(hash));
    return root + "/snapshots/" + hash;
  }
  if (!revision.empty()) return root + "/snapshots/" + revision;
  const auto all = directories(root + "/snapshots");
  return all.size() == 1 ? all[0] : "";
}

std::string hub_cache() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const auto cache = environment(name); !cache.empty()) return cache;
  if (const auto home = environment("HF_HOME"); !home.empty()) return join_path(home, "hub");
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return join_path(cache, "huggingface/hub");
  const auto home = environment("HOME");
  return home.empty() ? "" : join_path(home, ".cache/huggingface/hub");
}

std::string resolve_model(const std::string& model, const std::string& cache,
                          const std::vector<std::string>& markers) {
  if (is_directory(model)) return checked(model, markers);
  if (is_file(model)) load_fault(model, "", "expected a model directory, got a file");
  const HubName name = parse_hub_name(model);
  if (name.organisation.empty())
    throw LoadError(concat("model ", shown(model),
                           ": there is no such directory, and it is not a name of the form "
                           "Org/Name or Org/Name@revision"));
  if (cache.empty())
    throw LoadError(concat("model ", shown(model), ": there is no such directory, and no cache of ",
                           "downloaded models is known: set HF_HOME or HOME"));
  const std::string root = hub_folder(cache, name);
  const std::string snapshot = find_snapshot(root, name.revision);
  if (!snapshot.empty() && is_directory(snapshot)) return checked(snapshot, markers);
  throw LoadError(concat("model ", shown(model), ": looked for the directory ", shown(model),
                         " and for ", snapshot.empty() ? root + "/snapshots" : snapshot,
                         "; neither exists. Download it (syrinx hub pull ", name.organisation, "/",
                         name.name, "), or give its directory"));
}

std::string resolve_part(const std::string& model_dir, const std::string& part,
                         const std::string& cache, const std::string& marker) {
  const std::string inside = join_path(model_dir, part.substr(part.find('/') + 1));
  if (is_directory(inside)) return checked(inside, {marker});
  const HubName name = parse_hub_name(part);
  SYRINX_CHECK(!name.organisation.empty(), "[hub] invalid part ", part);
  const std::string root = hub_folder(cache, name);
  const std::string snapshot = cache.empty() ? "" : find_snapshot(root, name.revision);
  if (!snapshot.empty() && is_directory(snapshot)) return checked(snapshot, {marker});
  throw LoadError(
      concat(model_dir, ": needs ", part, ", which is published separately; looked for ", inside,
             cache.empty() ? "" : " and " + root, ". Download it: syrinx hub pull ", part));
}

}  // namespace syrinx
