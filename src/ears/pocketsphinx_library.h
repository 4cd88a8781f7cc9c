// The library of PocketSphinx: version 3 of Debian 12 and 13 (5prealpha, with libsphinxbase3), or
// version 5 of later systems. It is opened at first use, so that the program can be built and
// started without it. This class declares only the C functions that it uses. The library's major
// version fixes their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace syrinx {

class PocketSphinxLibrary {
 public:
  /// Opens version 3 if it is installed, otherwise version 5. Throws LoadError if neither is
  /// installed; the text names the packages.
  static std::shared_ptr<const PocketSphinxLibrary> open();
  ~PocketSphinxLibrary();
  PocketSphinxLibrary(const PocketSphinxLibrary&) = delete;
  PocketSphinxLibrary& operator=(const PocketSphinxLibrary&) = delete;

  // Opaque types of the library.
  struct Decoder;
  struct Config;
  struct Arguments;
  struct LogMath;
  struct Words;       // iterates over the words of a hypothesis
  struct Endpointer;  // finds the speech in a stream of frames

  /// The library's type cmn_t: the running mean of the cepstra.
  struct CepstralMean {
    float* mean;
    float* variance;
    float* sum;
    int32_t frames;
    int32_t width;
  };
  /// The first fields of the library's type feat_t, up to cmn_struct.
  struct Features {
    int refcount;
    char* name;
    int32_t cepstra;
    int32_t streams;
    uint32_t* stream_widths;
    int32_t window;
    int32_t subvectors;
    uint32_t* subvector_widths;
    int32_t** subvector_rows;
    float* subvector_buffer;
    int32_t subvector_width;
    int mean_kind;
    int32_t variance_normalised;
    int gain_kind;
    void (*compute)();
    CepstralMean* mean;
  };

  // Functions of both versions.
  Decoder* (*ps_init)(Config*) = nullptr;
  int (*ps_free)(Decoder*) = nullptr;
  LogMath* (*ps_get_logmath)(Decoder*) = nullptr;
  int (*ps_start_stream)(Decoder*) = nullptr;
  int (*ps_start_utt)(Decoder*) = nullptr;
  int (*ps_process_raw)(Decoder*, const int16_t*, size_t, int, int) = nullptr;
  int (*ps_end_utt)(Decoder*) = nullptr;
  const char* (*ps_get_hyp)(Decoder*, int32_t*) = nullptr;
  Words* (*ps_seg_iter)(Decoder*) = nullptr;
  Words* (*ps_seg_next)(Words*) = nullptr;
  const char* (*ps_seg_word)(Words*) = nullptr;
  void (*ps_seg_frames)(Words*, int*, int*) = nullptr;
  int32_t (*ps_seg_prob)(Words*, int32_t*, int32_t*, int32_t*) = nullptr;
  double (*logmath_exp)(LogMath*, int) = nullptr;

  // Functions of version 3. The library finds the ends of utterances in ps_process_raw().
  const Arguments* (*ps_args)() = nullptr;
  Features* (*ps_get_feat)(Decoder*) = nullptr;
  uint8_t (*ps_get_in_speech)(Decoder*) = nullptr;
  Config* (*cmd_ln_init)(Config*, const Arguments*, int32_t, ...) = nullptr;
  int (*cmd_ln_free_r)(Config*) = nullptr;

  // Functions of version 5. An endpointer finds the ends of utterances.
  Config* (*ps_config_init)(const Arguments*) = nullptr;
  const void* (*ps_config_set_str)(Config*, const char*, const char*) = nullptr;
  int (*ps_config_free)(Config*) = nullptr;
  const char* (*ps_get_cmn)(Decoder*, int) = nullptr;
  int (*ps_set_cmn)(Decoder*, const char*) = nullptr;
  Endpointer* (*ps_endpointer_init)(double, double, int, int, double) = nullptr;
  int (*ps_endpointer_free)(Endpointer*) = nullptr;
  int (*ps_endpointer_in_speech)(Endpointer*) = nullptr;
  const int16_t* (*ps_endpointer_process)(Endpointer*, const int16_t*) = nullptr;
  const int16_t* (*ps_endpointer_end_stream)(Endpointer*, const int16_t*, size_t,
                                             size_t*) = nullptr;
  double (*ps_endpointer_speech_start)(Endpointer*) = nullptr;

  /// Returns 3 or 5.
  int version() const { return base_ != nullptr ? 3 : 5; }

 private:
  PocketSphinxLibrary() = default;
  void bind_3();
  void bind_5();
  void* base_ = nullptr;  // libsphinxbase, null in version 5
  void* sphinx_ = nullptr;
};

}  // namespace syrinx
