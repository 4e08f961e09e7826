#define _GNU_SOURCE
#include "csystem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifndef __linux__
#include <sys/sysctl.h>
#endif

uint64_t cs_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t cs_boot_ms(void) {
    struct timespec t;
#ifdef __linux__
    clock_gettime(CLOCK_BOOTTIME, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t cs_wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int cs_boot_id(char *text, size_t size) {
#ifdef __linux__
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL) return -1;
    char *line = fgets(text, (int)size, file);
    fclose(file);
    if (line == NULL) return -1;
    text[strcspn(text, "\n")] = 0;
    return text[0] == 0 ? -1 : 0;
#else
    return sysctlbyname("kern.bootsessionuuid", text, &size, NULL, 0);
#endif
}

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

static uint32_t to_epoll(uint32_t interest) {
    return (interest & CS_READABLE ? EPOLLIN | EPOLLRDHUP : 0) | (interest & CS_WRITABLE ? EPOLLOUT : 0);
}

int cs_poller_open(struct cs_poller *p) {
    p->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    p->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->poll_fd < 0 || p->timer_fd < 0 || p->bell_fd < 0) {
        int error = -errno;
        cs_poller_close(p);
        return error;
    }
    // The counters are edge-triggered and never read: each write or expiry is one edge.
    struct epoll_event bell = {.events = EPOLLIN | EPOLLET, .data.u64 = CS_TOKEN_BELL};
    struct epoll_event timer = {.events = EPOLLIN | EPOLLET, .data.u64 = CS_TOKEN_TIMER};
    if (epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, p->bell_fd, &bell) < 0 ||
        epoll_ctl(p->poll_fd, EPOLL_CTL_ADD, p->timer_fd, &timer) < 0) {
        int error = -errno;
        cs_poller_close(p);
        return error;
    }
    return 0;
}

void cs_poller_close(struct cs_poller *p) {
    if (p->poll_fd >= 0) close(p->poll_fd);
    if (p->timer_fd >= 0) close(p->timer_fd);
    if (p->bell_fd >= 0) close(p->bell_fd);
    p->poll_fd = p->timer_fd = p->bell_fd = -1;
}

static int control(const struct cs_poller *p, int operation, int fd, uint64_t token, uint32_t interest) {
    struct epoll_event event = {.events = to_epoll(interest), .data.u64 = token};
    return epoll_ctl(p->poll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

int cs_poller_add(const struct cs_poller *p, int fd, uint64_t token, uint32_t interest) {
    return control(p, EPOLL_CTL_ADD, fd, token, interest);
}

int cs_poller_change(const struct cs_poller *p, int fd, uint64_t token, uint32_t interest) {
    return control(p, EPOLL_CTL_MOD, fd, token, interest);
}

int cs_poller_remove(const struct cs_poller *p, int fd) {
    return epoll_ctl(p->poll_fd, EPOLL_CTL_DEL, fd, NULL) < 0 ? -errno : 0;
}

int cs_poller_wait(const struct cs_poller *p, struct cs_event *events, int capacity, bool block) {
    struct epoll_event raw[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(p->poll_fd, raw, capacity, block ? -1 : 0);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = raw[i].data.u64;
        events[i].ready = (raw[i].events & (EPOLLIN | EPOLLRDHUP) ? CS_READABLE : 0) |
                          (raw[i].events & EPOLLOUT ? CS_WRITABLE : 0) |
                          (raw[i].events & (EPOLLHUP | EPOLLERR) ? CS_HANGUP : 0);
    }
    return count;
}

void cs_poller_ring(const struct cs_poller *p) { (void)!eventfd_write(p->bell_fd, 1); }

int cs_poller_arm(const struct cs_poller *p, uint64_t nanoseconds) {
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000u),
                                           .tv_nsec = (long)(nanoseconds % 1000000000u)}};
    return timerfd_settime(p->timer_fd, 0, &when, NULL) < 0 ? -errno : 0;
}

#else // Darwin: written from the documentation and never run yet.
#include <sys/event.h>

int cs_poller_open(struct cs_poller *p) {
    p->timer_fd = p->bell_fd = -1;
    p->poll_fd = kqueue();
    if (p->poll_fd < 0) return -errno;
    struct kevent64_s bell;
    EV_SET64(&bell, 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, CS_TOKEN_BELL, 0, 0);
    if (kevent64(p->poll_fd, &bell, 1, NULL, 0, 0, NULL) < 0) {
        int error = -errno;
        cs_poller_close(p);
        return error;
    }
    return 0;
}

void cs_poller_close(struct cs_poller *p) {
    if (p->poll_fd >= 0) close(p->poll_fd);
    p->poll_fd = -1;
}

static int apply(const struct cs_poller *p, int fd, uint64_t token, uint32_t interest) {
    struct kevent64_s changes[2];
    EV_SET64(&changes[0], (uint64_t)fd, EVFILT_READ, interest & CS_READABLE ? EV_ADD : EV_DELETE, 0, 0, token, 0, 0);
    EV_SET64(&changes[1], (uint64_t)fd, EVFILT_WRITE, interest & CS_WRITABLE ? EV_ADD : EV_DELETE, 0, 0, token, 0, 0);
    for (int i = 0; i < 2; i++) {
        if (kevent64(p->poll_fd, &changes[i], 1, NULL, 0, 0, NULL) < 0 && errno != ENOENT) return -errno;
    }
    return 0;
}

int cs_poller_add(const struct cs_poller *p, int fd, uint64_t token, uint32_t interest) {
    return apply(p, fd, token, interest);
}

int cs_poller_change(const struct cs_poller *p, int fd, uint64_t token, uint32_t interest) {
    return apply(p, fd, token, interest);
}

int cs_poller_remove(const struct cs_poller *p, int fd) { return apply(p, fd, 0, 0); }

int cs_poller_wait(const struct cs_poller *p, struct cs_event *events, int capacity, bool block) {
    struct kevent64_s raw[256];
    if (capacity > 256) capacity = 256;
    struct timespec none = {0, 0};
    int count = kevent64(p->poll_fd, NULL, 0, raw, capacity, 0, block ? NULL : &none);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = raw[i].udata;
        events[i].ready = (raw[i].filter == EVFILT_READ ? CS_READABLE : 0) |
                          (raw[i].filter == EVFILT_WRITE ? CS_WRITABLE : 0) |
                          (raw[i].filter == EVFILT_WRITE && raw[i].flags & EV_EOF ? CS_HANGUP : 0);
    }
    return count;
}

void cs_poller_ring(const struct cs_poller *p) {
    struct kevent64_s bell;
    EV_SET64(&bell, 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, CS_TOKEN_BELL, 0, 0);
    kevent64(p->poll_fd, &bell, 1, NULL, 0, 0, NULL);
}

int cs_poller_arm(const struct cs_poller *p, uint64_t nanoseconds) {
    struct kevent64_s timer;
    EV_SET64(&timer, 2, EVFILT_TIMER, nanoseconds ? EV_ADD | EV_ONESHOT : EV_DELETE, NOTE_NSECONDS, (int64_t)nanoseconds,
             CS_TOKEN_TIMER, 0, 0);
    if (kevent64(p->poll_fd, &timer, 1, NULL, 0, 0, NULL) < 0 && errno != ENOENT) return -errno;
    return 0;
}
#endif
