// libsyrinx: speech language models in a program, spoken piece by piece while they are made.
// A whole example; a test builds and runs it:
//
//     #include <stdio.h>
//     #include <syrinx.h>
//
//     /* Called on the thread that called syrinx_speak(), as often as there is new audio. */
//     static int write_chunk(void* file, const syrinx_chunk* chunk) {
//       size_t i;
//       for (i = 0; i < chunk->word_count; ++i) {
//         printf("word of bytes %zu to %zu at %.2f s\n", chunk->words[i].begin,
//                chunk->words[i].end, chunk->words[i].at_s);
//       }
//       return fwrite(chunk->samples, sizeof(float), chunk->count, file) != chunk->count;
//     }
//
//     int main(void) {
//       syrinx_error error;
//       syrinx_model* model = syrinx_load("finch", NULL, &error);
//       if (model == NULL) {
//         fprintf(stderr, "%s\n", error.message);
//         return 1;
//       }
//       FILE* file = fopen("hello.f32", "wb");
//       syrinx_speech_options options = syrinx_speech_defaults();
//       options.voice = "raven";
//       int code = syrinx_speak(model, "Hello from C.", &options, write_chunk, file, &error);
//       if (code != SYRINX_OK) fprintf(stderr, "%s\n", error.message);
//
//       /* The same without a callback, of a text that is not all there yet. */
//       options.text_open = 1;
//       syrinx_speech* speech = syrinx_open(model, "This text comes ", &options, &error);
//       const syrinx_chunk* chunk;
//       if (speech != NULL) {
//         syrinx_feed(speech, "in pieces.", 1, &error);
//         while ((chunk = syrinx_read(speech, -1, &error)) != NULL) write_chunk(file, chunk);
//         if (error.code != SYRINX_OK) fprintf(stderr, "%s\n", error.message);
//         syrinx_close(speech);
//       }
//       fclose(file);
//       printf("%d samples a second\n", syrinx_sample_rate(model));
//       syrinx_unload(model);
//       return code;
//     }
//
//     cc hello.c $(pkg-config --cflags --libs syrinx)
//
// Threads. A model may be used by any number of threads at once; what they speak at the same time
// is computed in the same batches. A speech has one reader at a time; syrinx_feed() and
// syrinx_cancel() may be called meanwhile from anywhere. The library has threads of its own, but
// never calls back on them: callbacks run inside syrinx_speak(). One that blocks holds up its own
// speech alone, and so does a slow reader. A callback must not throw or longjmp; a C++ exception
// ends the speech with SYRINX_INTERNAL. A process that forks must not use a model in the child.
//
// Errors. A function that can fail takes a syrinx_error, which may be NULL, and writes it in any
// case: SYRINX_OK or why not. Faults of the caller (a NULL handle) are SYRINX_INVALID where that
// can be distinguished. Strings are UTF-8 and end with a zero; what is given is copied, what is
// returned belongs to its handle.
//
// Promises between versions. What is here stays while the library is libsyrinx.so.0, in name and
// meaning. Handles are opaque. Structs that a caller fills begin with their size and grow at the
// end; fill them by the functions that give the defaults, and set what differs. Structs that the
// library returns grow at the end too: do not copy them by value between programs built apart.
// syrinx_error keeps its size. Codes and bits are added to, so expect ones that are not known yet.
#ifndef SYRINX_H
#define SYRINX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SYRINX_API __attribute__((visibility("default")))
#else
#define SYRINX_API
#endif

// ---------------------------------------------------------------- errors

enum syrinx_code {
  SYRINX_OK = 0,
  SYRINX_INVALID = 1,      ///< malformed; the same again fails again
  SYRINX_NOT_FOUND = 2,    ///< no voice of that name
  SYRINX_UNSUPPORTED = 3,  ///< well-formed, but this model cannot do it
  SYRINX_OVERLOADED = 4,   ///< no room now; later, see retry_after_s
  SYRINX_CANCELLED = 5,    ///< the caller asked to stop
  SYRINX_TIMEOUT = 6,      ///< nothing came in the time that was given
  SYRINX_INTERNAL = 7,     ///< a fault of the library
  SYRINX_LOAD = 8          ///< a model or a file cannot be used
};

typedef struct syrinx_error {
  int32_t code;  ///< of enum syrinx_code
  int32_t reserved;
  double retry_after_s;  ///< with SYRINX_OVERLOADED; 0: no prediction
  char message[496];     ///< for people; "" with SYRINX_OK
} syrinx_error;

/// "0.1.0"; static.
SYRINX_API const char* syrinx_version(void);

// ---------------------------------------------------------------- models

typedef struct syrinx_model syrinx_model;

typedef struct syrinx_load_options {
  size_t size;
  const char* weights;  ///< auto, f32, bf16, q8, q8a8, q4 or mixed; NULL: auto
  const char* device;   ///< auto, cpu or cuda; NULL: auto
  const char* policy;   ///< streaming, throughput or fcfs; NULL: streaming
  int32_t threads;      ///< 0: all cores
  int32_t max_batch;    ///< speeches in one step; 0: 32
  int32_t max_open;     ///< speeches open at once, past which there is SYRINX_OVERLOADED; 0: 256
  double max_wait_s;    ///< predicted wait past which there is SYRINX_OVERLOADED; 0: 60
  /// A model that is loaded already, with which this one is to share threads and deadlines
  /// (threads, max_batch and policy are then that one's); NULL: a crew of its own.
  const syrinx_model* beside;
} syrinx_load_options;

/// Options whose fields are all unset, with their size. Use it instead of a plain initializer.
static inline syrinx_load_options syrinx_load_defaults(void) {
  syrinx_load_options options = {sizeof(syrinx_load_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL};
  return options;
}

/// "finch" (the built-in voice), the directory of a checkpoint, or Org/Name[@revision] as found in
/// the hub's local cache; nothing is downloaded. `options` NULL: the defaults. NULL when it fails.
SYRINX_API syrinx_model* syrinx_load(const char* model, const syrinx_load_options* options,
                                     syrinx_error* error);
/// Speeches of the model that are open stay usable until they are closed. NULL does nothing.
SYRINX_API void syrinx_unload(syrinx_model* model);

/// What a model can do: bits of syrinx_traits().
enum syrinx_trait {
  SYRINX_TELLS_WORDS = 1,      ///< chunks come with the times of words
  SYRINX_HEARS_LATE_TEXT = 2,  ///< speaks before all text has come (others gather it first)
  SYRINX_CLONES = 4,           ///< syrinx_learn_voice() works
  SYRINX_MIXES_VOICES = 8,     ///< "finch(2)+raven(1)" is a voice
  SYRINX_TAKES_INSTRUCTIONS = 16
};

/// The model's name. Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_name(const syrinx_model* model);
/// The family of the model: "finch". Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_family(const syrinx_model* model);
SYRINX_API int syrinx_sample_rate(const syrinx_model* model);  ///< Hz; audio has one channel
SYRINX_API uint32_t syrinx_traits(const syrinx_model* model);  ///< bits of enum syrinx_trait
/// The model's voices, and its languages: number 0, 1, ...; NULL past the last one.
SYRINX_API const char* syrinx_voice_name(const syrinx_model* model, size_t number);
/// A voice's description for people, "" for none; NULL past the last voice.
SYRINX_API const char* syrinx_voice_description(const syrinx_model* model, size_t number);
/// A language's name; NULL past the last one.
SYRINX_API const char* syrinx_language_name(const syrinx_model* model, size_t number);

// ---------------------------------------------------------------- voices of recordings

/// A voice as data: belongs to the family of the model that made it, and may outlive the model.
typedef struct syrinx_voice syrinx_voice;

/// Learns a voice from mono samples (full scale 1), or from a file of a common audio format.
/// `text`: what it says, which some models need; or NULL. Waits until it is done. NULL when it
/// fails.
SYRINX_API syrinx_voice* syrinx_learn_voice(syrinx_model* model, const float* samples, size_t count,
                                            int sample_rate, const char* text, syrinx_error* error);
/// As above, from a file. NULL when it fails.
SYRINX_API syrinx_voice* syrinx_learn_voice_file(syrinx_model* model, const char* path,
                                                 const char* text, syrinx_error* error);
/// Writes a voice as a .safetensors file, and reads one. `consent`: the person that agreed to being
/// cloned, and how; or NULL.
SYRINX_API int syrinx_save_voice(const syrinx_voice* voice, const char* path, const char* consent,
                                 syrinx_error* error);
/// Reads a voice from a .safetensors file. NULL when it fails.
SYRINX_API syrinx_voice* syrinx_open_voice(const char* path, syrinx_error* error);
/// Frees a voice. NULL does nothing.
SYRINX_API void syrinx_free_voice(syrinx_voice* voice);

// ---------------------------------------------------------------- speech

typedef struct syrinx_speech_options {
  size_t size;
  /// A voice of the model, one kept by `syrinx voice add`, or a mix; NULL: the model's default.
  const char* voice;
  const syrinx_voice* learned;  ///< instead of `voice`; NULL: none
  const char* language;         ///< as the model names it; NULL: the model decides
  const char* instructions;     ///< NULL: none
  float speed;                  ///< 0.25 to 4
  /// Options of the sampler; below 0: the model's default.
  float temperature, top_p, repetition_penalty, guidance;
  int32_t top_k;
  int32_t text_open;  ///< not 0: more text follows by syrinx_feed()
  uint64_t seed;      ///< the same seed makes the same samples
  double max_s;       ///< of audio; 0: a bound derived from the text
  /// Further options, those of POST /v1/audio/speech: names and values in turn, ended by NULL, such
  /// as {"exaggeration", "0.5", "min_p", "0.1", NULL}. A field above that is set overrides them.
  /// NULL: none.
  const char* const* more;
} syrinx_speech_options;

/// Options whose fields are all unset, with their size. Use it instead of a plain initializer.
static inline syrinx_speech_options syrinx_speech_defaults(void) {
  syrinx_speech_options options = {
      sizeof(syrinx_speech_options), NULL, NULL, NULL, NULL, 1, -1, -1, -1, -1, -1, 0, 0, 0, NULL};
  return options;
}

/// A word of the text starts to sound: bytes [begin, end) of all text that was given.
typedef struct syrinx_word {
  size_t begin, end;
  double at_s;  ///< since the beginning of the speech
} syrinx_word;

/// New audio, valid until the next call for the same speech.
typedef struct syrinx_chunk {
  const float* samples;  ///< mono, full scale 1
  size_t count;          ///< may be 0 where only words are new
  int32_t sample_rate;   ///< Hz
  int32_t reserved;
  double begin_s;  ///< of the first sample, since the beginning of the speech
  /// Whose times became known; their audio comes in this chunk or a later one.
  const syrinx_word* words;
  size_t word_count;
} syrinx_chunk;

/// Returns 0 to go on; anything else ends the speech, and syrinx_speak() returns SYRINX_CANCELLED.
typedef int (*syrinx_on_chunk)(void* user, const syrinx_chunk* chunk);

/// Speaks a text and returns when it is spoken. `options` NULL: the defaults.
SYRINX_API int syrinx_speak(syrinx_model* model, const char* text,
                            const syrinx_speech_options* options, syrinx_on_chunk on_chunk,
                            void* user, syrinx_error* error);

typedef struct syrinx_speech syrinx_speech;

/// Begins to speak; the audio is to be read. NULL when it fails. Audio that is not read is made
/// only for some seconds ahead.
SYRINX_API syrinx_speech* syrinx_open(syrinx_model* model, const char* text,
                                      const syrinx_speech_options* options, syrinx_error* error);
/// More text, of a speech opened with text_open; `last` not 0: the last of it ("" is fine).
SYRINX_API int syrinx_feed(syrinx_speech* speech, const char* text, int last, syrinx_error* error);
/// What is new. Waits for it for `timeout_s`; 0: not at all, below 0: as long as it takes. NULL:
/// with SYRINX_OK at the end, SYRINX_TIMEOUT, or why the speech failed.
SYRINX_API const syrinx_chunk* syrinx_read(syrinx_speech* speech, double timeout_s,
                                           syrinx_error* error);
/// A file descriptor for poll() and event loops, readable when syrinx_read() has something to say.
/// Do not read from or close it; it goes with the speech. -1 when there is none to be had.
SYRINX_API int syrinx_fd(syrinx_speech* speech);
/// The speech ends with SYRINX_CANCELLED before the next step; audio that is there can be read.
SYRINX_API void syrinx_cancel(syrinx_speech* speech);
/// Cancels what is not over. NULL does nothing.
SYRINX_API void syrinx_close(syrinx_speech* speech);

/// Why a speech ended.
enum syrinx_end {
  SYRINX_END_OF_TEXT = 0,
  SYRINX_END_OF_LENGTH = 1,    ///< a bound was reached before the end of the text
  SYRINX_END_OF_PATIENCE = 2,  ///< the voice repeated itself and was stopped
  SYRINX_END_EARLY = 3         ///< cancelled or failed
};

typedef struct syrinx_outcome {
  int32_t end;           ///< of enum syrinx_end
  int32_t underruns;     ///< chunks that came after a listener in real time had run dry
  double audio_s;        ///< as the model made it: before `speed` beyond what the model can
  double first_audio_s;  ///< from opening to the first samples
  double total_s;        ///< from opening to the end
} syrinx_outcome;

/// How it went; NULL before syrinx_read() has reported the end.
SYRINX_API const syrinx_outcome* syrinx_outcome_of(const syrinx_speech* speech);

#ifdef __cplusplus
}
#endif

#endif
