#include "csystem.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <dirent.h>
#include <stdio.h>
#include <string.h>

static int64_t open_descriptors(void) {
    struct stat facts;
    // Since Linux 6.2 the directory's size is the number of descriptors; before, its entries have to be counted.
    if (stat("/proc/self/fd", &facts) == 0 && facts.st_size > 0) return facts.st_size;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) return -1;
    // The two dots and the directory's own descriptor are not counted.
    int64_t count = -3;
    while (readdir(directory) != NULL) count += 1;
    closedir(directory);
    return count;
}

static double started_at(void) {
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) return -1;
    char text[1024];
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    // The name may hold blanks and parentheses; the fields after it do not. The 20th of these is the start time in
    // ticks.
    char *rest = strrchr(text, ')');
    unsigned long long ticks = 0;
    if (rest == NULL
        || sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
        return -1;
    struct timespec wall, boot;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    double now = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9;
    double up = (double)boot.tv_sec + (double)boot.tv_nsec / 1e9;
    return now - up + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}
#endif

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

void cs_process_usage(struct cs_process_usage *usage) {
    *usage = (struct cs_process_usage){0, -1, -1, -1, -1, -1};
    struct rusage spent;
    if (getrusage(RUSAGE_SELF, &spent) == 0) usage->cpu_seconds = seconds(spent.ru_utime) + seconds(spent.ru_stime);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        usage->most_descriptors = (int64_t)limit.rlim_cur;
#ifdef __linux__
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        long long size, resident;
        if (fscanf(file, "%lld %lld", &size, &resident) == 2) {
            usage->virtual_bytes = size * sysconf(_SC_PAGESIZE);
            usage->resident_bytes = resident * sysconf(_SC_PAGESIZE);
        }
        fclose(file);
    }
    usage->open_descriptors = open_descriptors();
    usage->started_at = started_at();
#endif
}
