// libtutti-unmap.so, for TUTTI_REGISTRATION_CACHE=interpose: stands before the C library's functions that take memory away from its
// addresses, and tells tutti before they do (core/base/unmap_watch.h). A program asks for it by LD_PRELOAD or by being linked with it.
//
// What this sees are calls of munmap, mremap, madvise, mmap over what is there, brk, sbrk, shmdt and malloc_trim from the program and
// from libraries. It does not see bare system calls, nor what the C library does by itself. Of that, free() would unmap; so the C
// library's allocator is told to keep what it has (mallopt: no mappings of their own for large blocks, no trimming, one arena).
// The rest is the program's to answer for: what it passes to tutti lies neither on the stack of a thread that ends nor in a library
// that is closed. Where it unmaps by other means, it calls tutti_unmapped() before.
//
// UCX has hooks of its own, for which it may overwrite the first instructions of these functions, and then calls the kernel itself.
// tutti_unmap_intact() tells of that; tutti asks it at each use of what it keeps, and uses none if they are not.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef void (*told)(void* whom, const void* begin, size_t bytes);

enum { most = 8 };  // copies of tutti in one process
static struct {
  told gone;
  void* whom;
} listeners[most];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static int (*next_munmap)(void*, size_t);
static void* (*next_mremap)(void*, size_t, size_t, int, ...);
static int (*next_madvise)(void*, size_t, int);
static void* (*next_mmap)(void*, size_t, int, int, int, off_t);
static int (*next_brk)(void*);
static void* (*next_sbrk)(intptr_t);
static int (*next_shmdt)(const void*);
static int (*next_malloc_trim)(size_t);

#define FIND(name) (next_##name ? (void)0 : (void)(*(void**)&next_##name = dlsym(RTLD_NEXT, #name)))

enum { code_bytes = 16 };
static const void* const ours[] = {(const void*)munmap, (const void*)mremap, (const void*)madvise, (const void*)mmap,
                                   (const void*)mmap64, (const void*)sbrk,   (const void*)brk,     (const void*)shmdt};
enum { functions = sizeof ours / sizeof *ours };
static unsigned char began[functions][code_bytes];

// 1: what these functions do is still what stands here.
PUBLIC int tutti_unmap_intact(void) {
  for (int i = 0; i < functions; ++i)
    if (memcmp(began[i], ours[i], code_bytes) != 0) return 0;
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  for (int i = 0; i < functions; ++i) memcpy(began[i], ours[i], code_bytes);
  FIND(munmap), FIND(mremap), FIND(madvise), FIND(mmap), FIND(brk), FIND(sbrk), FIND(shmdt), FIND(malloc_trim);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);
}

// `gone` is called from now on, in any thread; null: no more, and when this returns it is not running.
PUBLIC void tutti_unmap_tell(told gone, void* whom) {
  pthread_rwlock_wrlock(&lock);
  for (int i = 0; i < most; ++i)
    if (gone ? !listeners[i].gone : listeners[i].whom == whom) {
      listeners[i].gone = gone;
      listeners[i].whom = gone ? whom : NULL;
      break;
    }
  pthread_rwlock_unlock(&lock);
}

// These bytes are about to go.
PUBLIC void tutti_unmapped(const void* begin_of, size_t bytes) {
  pthread_rwlock_rdlock(&lock);
  for (int i = 0; i < most; ++i)
    if (listeners[i].gone) listeners[i].gone(listeners[i].whom, begin_of, bytes);
  pthread_rwlock_unlock(&lock);
}

PUBLIC int munmap(void* at, size_t bytes) {
  FIND(munmap);
  tutti_unmapped(at, bytes);
  return next_munmap(at, bytes);
}

PUBLIC void* mremap(void* at, size_t bytes, size_t wanted, int how, ...) {
  va_list rest;
  va_start(rest, how);
  void* const to = how & MREMAP_FIXED ? va_arg(rest, void*) : NULL;
  va_end(rest);
  FIND(mremap);
  tutti_unmapped(at, bytes);
  if (to) tutti_unmapped(to, wanted);
  return next_mremap(at, bytes, wanted, how, to);
}

PUBLIC int madvise(void* at, size_t bytes, int advice) {
  FIND(madvise);
  // All but those that leave every page in its place, whatever advice later kernels know.
  if (advice != MADV_NORMAL && advice != MADV_RANDOM && advice != MADV_SEQUENTIAL && advice != MADV_WILLNEED &&
      advice != MADV_DONTFORK && advice != MADV_DOFORK && advice != MADV_DONTDUMP && advice != MADV_DODUMP &&
      advice != MADV_HUGEPAGE && advice != MADV_NOHUGEPAGE)
    tutti_unmapped(at, bytes);
  return next_madvise(at, bytes, advice);
}

PUBLIC void* mmap(void* at, size_t bytes, int rights, int how, int file, off_t offset) {
  FIND(mmap);
  if (how & MAP_FIXED) tutti_unmapped(at, bytes);
  return next_mmap(at, bytes, rights, how, file, offset);
}
PUBLIC void* mmap64(void* at, size_t bytes, int rights, int how, int file, off_t offset) {
  return mmap(at, bytes, rights, how, file, offset);
}

PUBLIC void* sbrk(intptr_t more) {
  FIND(sbrk);
  if (more < 0) tutti_unmapped((char*)next_sbrk(0) + more, (size_t)-more);
  return next_sbrk(more);
}

PUBLIC int brk(void* end) {
  FIND(brk), FIND(sbrk);
  char* const now = next_sbrk(0);
  if ((char*)end < now) tutti_unmapped(end, (size_t)(now - (char*)end));
  return next_brk(end);
}

// How long it is nobody says.
PUBLIC int shmdt(const void* at) {
  FIND(shmdt);
  tutti_unmapped(at, SIZE_MAX);
  return next_shmdt(at);
}

PUBLIC int malloc_trim(size_t pad) {
  FIND(malloc_trim);
  tutti_unmapped(NULL, SIZE_MAX);
  return next_malloc_trim(pad);
}
