/* Functions of newer C libraries than 2.31 that GCC 12's own libraries call, and a variable for other
libraries.
   tools/portable_sysroot puts it beside the C library, into libc_nonshared.a. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#pragma GCC visibility push(hidden)

/* Debian's libmp3lame.a and libopus.a were compiled for programs and take the address of stderr in a way
   that no shared library can; tools/portable_sysroot has them take this one's. */
FILE* syrinx_stderr;
__attribute__((constructor)) static void set_stderr(void) { syrinx_stderr = stderr; }

/* 2.32: whether the process has one thread. 0 is always right; atomics are then used. */
char __libc_single_threaded = 0;

/* 2.36: std::random_device, expat. */
void arc4random_buf(void* out, size_t size) {
  char* at = out;
  while (size > 0) {
    const size_t part = size < 256 ? size : 256; /* the most that getentropy() takes */
    if (getentropy(at, part) != 0) abort();
    at += part;
    size -= part;
  }
}

uint32_t arc4random(void) {
  uint32_t out;
  arc4random_buf(&out, sizeof out);
  return out;
}

/* 2.35: the unwinder uses it to find the object of a code address. The layout is glibc's
   <dlfcn.h>. */
struct dl_find_object {
  unsigned long long flags;
  void *map_start, *map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t pc;
  struct dl_find_object* out;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  const struct search* search = data;
  const ElfW(Phdr) *inside = NULL, *frames = NULL;
  int i;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
    if (part->p_type == PT_LOAD && search->pc >= begin && search->pc - begin < part->p_memsz) {
      inside = part;
    }
  }
  if (inside == NULL) return 0;
  if (frames == NULL) return -1;
  search->out->flags = 0;
  search->out->map_start = (void*)(info->dlpi_addr + inside->p_vaddr);
  search->out->map_end = (char*)search->out->map_start + inside->p_memsz;
  search->out->map = NULL;
  search->out->eh_frame = (void*)(info->dlpi_addr + frames->p_vaddr);
  return 1;
}

int _dl_find_object(void* pc, struct dl_find_object* out) {
  struct search search = {(uintptr_t)pc, out};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
