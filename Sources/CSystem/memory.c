#define _GNU_SOURCE
#include "csystem.h"
#include <sys/mman.h>

#ifdef __linux__
#include <link.h>
#include <unistd.h>

// Read-only segments hold only file pages. Dropping them costs one minor fault for each page that is used again.
static int drop(struct dl_phdr_info *object, size_t size, void *page_size) {
    (void)size;
    uintptr_t page = *(uintptr_t *)page_size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (object->dlpi_addr != 0 && end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void cs_release_startup_pages(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(drop, &page);
}
#else
void cs_release_startup_pages(void) {}
#endif

#ifdef __GLIBC__
#include <malloc.h>
#include <stdlib.h>

void cs_limit_arenas(int most) {
    if (!getenv("MALLOC_ARENA_MAX")) mallopt(M_ARENA_MAX, most);
}
#else
void cs_limit_arenas(int most) { (void)most; }
#endif

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)

void cs_release_free_memory(size_t least) {
    if (mallinfo2().fordblks >= least) malloc_trim(0);
}
#else
void cs_release_free_memory(size_t least) { (void)least; }
#endif

int cs_has_address_space(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED) return 0;
    munmap(memory, bytes);
    return 1;
}
