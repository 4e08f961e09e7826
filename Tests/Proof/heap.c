// Preloaded into the program under test: once a second it writes the bytes in use by malloc, and the bytes malloc has from the
// system, to the file named by HEAP_LOG. Memory that grows in use is kept by the program; memory that grows only as had is
// fragmentation.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *watch(void *path) {
    for (;;) {
        struct mallinfo2 heap = mallinfo2();
        FILE *file = fopen(path, "a");
        if (file) {
            fprintf(file, "%ld %zu %zu\n", (long)time(NULL), heap.uordblks + heap.hblkhd, heap.arena + heap.hblkhd);
            fclose(file);
        }
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

__attribute__((constructor)) static void start(void) {
    char *path = getenv("HEAP_LOG");
    pthread_t thread;
    if (path) pthread_create(&thread, NULL, watch, path);
}
