// Calls that Swift's Glibc and Darwin overlays hide, and the system calls of the event loop. Results: 0 or more is
// success, below 0 is minus errno. No _GNU_SOURCE in this header: with it fd_set clashes with Dispatch's module; the .c
// files have it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "csystem_access.h"
#include "csystem_discovery.h"

// ---- poller: epoll with a timerfd and an eventfd, or kqueue with a timer and a user event ----

enum { CS_READABLE = 1, CS_WRITABLE = 2, CS_HANGUP = 4 };

struct cs_event {
    uint64_t token;
    uint32_t ready;
};

struct cs_poller {
    int poll_fd;
    int timer_fd; // Linux only
    int bell_fd;  // Linux only
};

// Tokens of the poller's own events; descriptors use lower ones.
#define CS_TOKEN_BELL UINT64_MAX
#define CS_TOKEN_TIMER (UINT64_MAX - 1)

int cs_poller_open(struct cs_poller *poller);
void cs_poller_close(struct cs_poller *poller);
int cs_poller_add(const struct cs_poller *poller, int fd, uint64_t token, uint32_t interest);
int cs_poller_change(const struct cs_poller *poller, int fd, uint64_t token, uint32_t interest);
int cs_poller_remove(const struct cs_poller *poller, int fd);
// Waits without end, or with `block` false returns at once. EINTR counts as no event.
int cs_poller_wait(const struct cs_poller *poller, struct cs_event *events, int capacity, bool block);
// Wakes the poller, from any thread.
void cs_poller_ring(const struct cs_poller *poller);
// Arms the one-shot timer, in nanoseconds from now; 0 disarms it.
int cs_poller_arm(const struct cs_poller *poller, uint64_t nanoseconds);

// ---- clocks ----

uint64_t cs_monotonic_ns(void);
int64_t cs_wall_ms(void);
// Runs on while the machine sleeps, which the monotonic clock of Linux does not.
int64_t cs_boot_ms(void);
// Names the run of the machine since which the monotonic clock counts; -1 if the system does not say.
int cs_boot_id(char *text, size_t size);

// ---- sockets, all non-blocking and close-on-exec ----

enum { CS_FAMILY_NONE = 0, CS_FAMILY_UNIX = 1, CS_FAMILY_IPV4 = 4, CS_FAMILY_IPV6 = 6 };

struct cs_address {
    uint8_t family;
    uint16_t port; // host order
    uint32_t scope;
    uint8_t bytes[16];
};

int cs_tcp_listen(const struct cs_address *address, int backlog);
int cs_tcp_connect(const struct cs_address *address);
int cs_unix_listen(const char *path, uint32_t mode, int backlog);
int cs_unix_connect(const char *path);
int cs_unix_pair(int fds[2]);
// Sends one datagram to a path, or on Linux to an abstract name that begins with `@`.
int cs_unix_send(const char *path, const void *bytes, size_t count);
int cs_accept(int listener, struct cs_address *peer);
int cs_local_address(int fd, struct cs_address *address);
int cs_peer_address(int fd, struct cs_address *address);
// The pending error of a connect under way: 0 once connected.
int cs_socket_error(int fd);
// Prepares an inherited descriptor for a loop: non-blocking and close-on-exec.
int cs_adopt(int fd);
ssize_t cs_read(int fd, void *buffer, size_t length);
// Writes without ever raising SIGPIPE.
ssize_t cs_write(int fd, const void *buffer, size_t length);
int cs_shutdown_write(int fd);
// At the close, and this long after they were written, bytes without an acknowledgement are forgotten.
void cs_drop_unsent(int fd, int milliseconds);
// The number of bytes that the kernel holds unsent or unacknowledged; -1 where it cannot tell.
int cs_unsent(int fd);
void cs_close(int fd);
int cs_is_listening(int fd);
// Gets the sockets, at most `capacity`, that launchd holds for this process under a name of the job's Sockets. Returns
// their number: 0 where there are none, and on other systems.
int cs_launchd_sockets(const char *name, int *fds, int capacity);

// Resolves a numeric or named host to at most `capacity` addresses and returns their number. It blocks, so never call
// it on a loop.
int cs_resolve(const char *host, uint16_t port, bool numeric_only, struct cs_address *addresses, int capacity);

// ---- process ----

// Raises the descriptor limit to its hard maximum and returns the limit now in force.
int64_t cs_raise_descriptor_limit(void);
// Prevents core files, so that a crash writes none of this process's memory to disk.
int cs_forbid_core_files(void);
// Returns 1 if this much more address space is available now; none of it is kept.
int cs_has_address_space(size_t bytes);
int cs_ignore_sigpipe(void);
// Releases code pages that only the start needed; the system maps a page again from its cache when it is used.
void cs_release_startup_pages(void);

// The C library keeps at most so many heaps for the threads of the process. A value in the environment wins.
void cs_limit_arenas(int most);

// Returns free pages inside the heap to the system if they have at least this many bytes. glibc would keep them for
// ever if a single used block lies above them.
void cs_release_free_memory(size_t least);

// Runs a program, found by its whole path, with `input` on its standard input and its output in `output`; output beyond
// the capacity is dropped. After `milliseconds` the program and its children get SIGTERM, two seconds later SIGKILL.
// Blocks. Returns the exit status, 128 plus the signal's number, -ETIMEDOUT, or -errno if it did not start.
int cs_run_program(char *const arguments[], char *const environment[], const void *input, size_t input_count,
                   void *output, size_t output_capacity, size_t *output_count, int milliseconds);

// Starts a program that runs beside this one, with its output readable at `*output`. On Linux it gets SIGKILL when the
// calling thread ends, and so when this process does. Returns its process id, or -errno.
int cs_start_program(char *const arguments[], char *const environment[], int *output);
// Blocks until the program has closed its output and ended; its process id stays reserved until `cs_reap_program`.
void cs_await_program(int child, int output, void *text, size_t capacity, size_t *count);
// Returns the exit status, 128 plus the signal's number, or -errno.
int cs_reap_program(int child);
// SIGTERM to the program and its children.
void cs_end_program(int child);

// The resources that the process uses; -1 where the system does not report a value.
struct cs_process_usage {
    double cpu_seconds;
    int64_t resident_bytes;
    int64_t virtual_bytes;
    int64_t open_descriptors;
    int64_t most_descriptors;
    double started_at; // Unix seconds
};
void cs_process_usage(struct cs_process_usage *usage);
