#include "ears/pocketsphinx_library.h"

#include <dlfcn.h>

#include <cstdio>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {
namespace {

template <typename Function>
void bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    throw LoadError(concat("this PocketSphinx has no ", name, "(): ", dlerror()));
  }
}

void* open_library(const char* name) {
  if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw LoadError(concat("PocketSphinx is not installed (", dlerror(),
                         "); on Debian: apt install libpocketsphinx3 pocketsphinx-en-us"));
}

}  // namespace

std::shared_ptr<const PocketSphinxLibrary> PocketSphinxLibrary::open() {
  const std::shared_ptr<PocketSphinxLibrary> out(new PocketSphinxLibrary);
  out->base_ = open_library("libsphinxbase.so.3");
  out->sphinx_ = open_library("libpocketsphinx.so.3");
  void* const sphinx = out->sphinx_;
  bind(sphinx, "ps_args", out->ps_args);
  bind(sphinx, "ps_init", out->ps_init);
  bind(sphinx, "ps_free", out->ps_free);
  bind(sphinx, "ps_get_logmath", out->ps_get_logmath);
  bind(sphinx, "ps_get_feat", out->ps_get_feat);
  bind(sphinx, "ps_start_stream", out->ps_start_stream);
  bind(sphinx, "ps_start_utt", out->ps_start_utt);
  bind(sphinx, "ps_process_raw", out->ps_process_raw);
  bind(sphinx, "ps_end_utt", out->ps_end_utt);
  bind(sphinx, "ps_get_in_speech", out->ps_get_in_speech);
  bind(sphinx, "ps_get_hyp", out->ps_get_hyp);
  bind(sphinx, "ps_seg_iter", out->ps_seg_iter);
  bind(sphinx, "ps_seg_next", out->ps_seg_next);
  bind(sphinx, "ps_seg_word", out->ps_seg_word);
  bind(sphinx, "ps_seg_frames", out->ps_seg_frames);
  bind(sphinx, "ps_seg_prob", out->ps_seg_prob);
  bind(out->base_, "cmd_ln_init", out->cmd_ln_init);
  bind(out->base_, "cmd_ln_free_r", out->cmd_ln_free_r);
  bind(out->base_, "logmath_exp", out->logmath_exp);
  // Without this call, the library writes its log to the standard error.
  void (*set_log)(std::FILE*) = nullptr;
  bind(out->base_, "err_set_logfp", set_log);
  set_log(nullptr);
  return out;
}

PocketSphinxLibrary::~PocketSphinxLibrary() {
  if (sphinx_ != nullptr) dlclose(sphinx_);
  if (base_ != nullptr) dlclose(base_);
}

}  // namespace syrinx
