#include "csystem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <dirent.h>
#include <sys/prctl.h>
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

static int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// A close-on-exec pipe; the ends that the child keeps are duplicated by its file actions.
static int make_pipe(int ends[2]) {
    if (pipe(ends) < 0) return -errno;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int spawn_with(pid_t *child, char *const arguments[], char *const environment[], int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    // The child gets its own group, so that its children can be ended with it, and none of our signal settings.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(child, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

static int run_program(char *const arguments[], char *const environment[], const void *input, size_t input_count,
                       void *output, size_t output_capacity, size_t *output_count, int milliseconds) {
    enum { GRACE_MS = 2000 };
    int in[2], out[2];
    *output_count = 0;
    int result = make_pipe(in);
    if (result < 0) return result;
    result = make_pipe(out);
    if (result < 0) {
        close(in[0]);
        close(in[1]);
        return result;
    }
    pid_t child;
    result = spawn_with(&child, arguments, environment, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    if (result < 0) {
        close(in[1]);
        close(out[0]);
        return result;
    }
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    size_t written = 0;
    int64_t deadline = monotonic_ms() + milliseconds;
    int signalled = 0, status = 0, has_ended = 0, is_open = 1, has_input = 1;
    while (!has_ended) {
        if (has_input && written == input_count) {
            close(in[1]);
            has_input = 0;
        }
        int64_t left = deadline - monotonic_ms();
        if (left <= 0) {
            if (signalled == SIGKILL) break;
            signalled = signalled == 0 ? SIGTERM : SIGKILL;
            kill(-child, signalled);
            deadline = monotonic_ms() + GRACE_MS;
            continue;
        }
        // The child may end while its own children hold the pipe open, so it is polled.
        struct pollfd both[2] = {{.fd = is_open ? out[0] : -1, .events = POLLIN},
                                 {.fd = has_input ? in[1] : -1, .events = POLLOUT}};
        poll(both, 2, left < 20 ? (int)left : 20);
        if (both[1].revents != 0) {
            ssize_t count = write(in[1], (const char *)input + written, input_count - written);
            if (count > 0) {
                written += (size_t)count;
            } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
                // The child has closed its input.
                written = input_count;
            }
        }
        if (both[0].revents != 0) {
            char piece[1024];
            ssize_t count = read(out[0], piece, sizeof piece);
            if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) is_open = 0;
            for (ssize_t i = 0; i < count && *output_count < output_capacity; i++)
                ((char *)output)[(*output_count)++] = piece[i];
        }
        pid_t found = waitpid(child, &status, WNOHANG);
        if (found == child) has_ended = 1;
        if (found < 0 && errno != EINTR) break;
    }
    if (has_input) close(in[1]);
    close(out[0]);
    if (signalled != 0) {
        kill(-child, SIGKILL);
        if (!has_ended) waitpid(child, &status, 0);
        return -ETIMEDOUT;
    }
    if (!has_ended) return -ECHILD;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cs_run_program(char *const arguments[], char *const environment[], const void *input, size_t input_count,
                   void *output, size_t output_capacity, size_t *output_count, int milliseconds) {
    // A program that does not read its input must not end this process. The signal goes to the thread that writes.
    sigset_t broken, former, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &former);
    int result = run_program(arguments, environment, input, input_count, output, output_capacity, output_count,
                             milliseconds);
    sigemptyset(&pending);
    sigpending(&pending);
    int number;
    if (sigismember(&pending, SIGPIPE) && !sigismember(&former, SIGPIPE)) sigwait(&broken, &number);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return result;
}

// fork, because posix_spawn cannot request a signal at the parent's death. Between fork and exec only calls that are
// safe in a child of a threaded process are used.
int cs_start_program(char *const arguments[], char *const environment[], int *output) {
    int out[2];
    int result = make_pipe(out);
    if (result < 0) return result;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t parent = getpid();
    pid_t child = nothing < 0 ? -1 : fork();
    if (child == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
#endif
        struct sigaction usual = {.sa_handler = SIG_DFL};
        for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setpgid(0, 0);
        if (dup2(nothing, 0) < 0 || dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0) _exit(127);
        execve(arguments[0], arguments, environment);
        _exit(127);
    }
    int error = errno;
    (void)parent;
    if (nothing >= 0) close(nothing);
    close(out[1]);
    if (child < 0) {
        close(out[0]);
        return -error;
    }
    *output = out[0];
    return child;
}

void cs_await_program(int child, int output, void *text, size_t capacity, size_t *count) {
    char piece[1024];
    ssize_t got;
    *count = 0;
    while ((got = read(output, piece, sizeof piece)) != 0) {
        if (got < 0 && errno != EINTR) break;
        for (ssize_t i = 0; i < got && *count < capacity; i++) ((char *)text)[(*count)++] = piece[i];
    }
    close(output);
    siginfo_t facts;
    while (waitid(P_PID, (id_t)child, &facts, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
}

int cs_reap_program(int child) {
    int status;
    pid_t found;
    while ((found = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
    if (found < 0) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void cs_end_program(int child) {
    if (kill(-child, SIGTERM) < 0) kill(child, SIGTERM);
}
