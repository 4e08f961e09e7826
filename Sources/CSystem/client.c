#define _GNU_SOURCE
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "csystem_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// A stream socket that child processes do not inherit, and that reports a closed peer as an error of the call.
static int open_stream(int family) {
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return fd;
}

int cs_blocking_connect(const char *path) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = open_stream(AF_UNIX);
    if (fd < 0) return fd;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

// Connects without blocking, so that the wait can end, and is a blocking socket afterwards.
static int connect_within(const struct addrinfo *address, int milliseconds) {
    int fd = open_stream(address->ai_family);
    if (fd < 0) return fd;
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    int error = connect(fd, address->ai_addr, address->ai_addrlen) < 0 ? errno : 0;
    if (error == EINPROGRESS) {
        socklen_t size = sizeof error;
        if (cs_wait(fd, 1, milliseconds) < 1)
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
            error = errno;
    }
    if (error != 0) {
        close(fd);
        return -error;
    }
    fcntl(fd, F_SETFL, flags);
    return fd;
}

int cs_blocking_connect_host(const char *host, uint16_t port, int milliseconds) {
    char service[6];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int result = getaddrinfo(host, service, &hints, &list);
    if (result != 0) return result == EAI_SYSTEM ? -errno : -ENOENT;
    result = -ENOENT;
    for (struct addrinfo *item = list; item && result < 0; item = item->ai_next)
        result = connect_within(item, milliseconds);
    freeaddrinfo(list);
    return result;
}

int cs_wait(int fd, int for_writing, int milliseconds) {
    struct pollfd one = {.fd = fd, .events = for_writing ? POLLOUT : POLLIN};
    int result;
    do {
        result = poll(&one, 1, milliseconds);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

int cs_wait_two(int first, int second, int milliseconds) {
    struct pollfd both[] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
    int result;
    do {
        result = poll(both, 2, milliseconds);
    } while (result < 0 && errno == EINTR);
    if (result < 0) return -errno;
    return (both[0].revents ? 1 : 0) | (both[1].revents ? 2 : 0);
}

static struct termios keys_before;
static volatile sig_atomic_t keys_taken;

int cs_is_foreground(void) { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

void cs_keys_end(void) {
    if (!keys_taken) return;
    keys_taken = 0;
    // In the background the terminal belongs to another program, which has set its own mode.
    if (cs_is_foreground()) tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
}

static void keys_end_and_die(int number) {
    cs_keys_end();
    signal(number, SIG_DFL);
    raise(number);
}

int cs_keys_begin(void) {
    if (keys_taken) return 0;
    if (!cs_is_foreground()) return -ENOTTY;
    if (tcgetattr(STDIN_FILENO, &keys_before) < 0) return -errno;
    static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now, then = {.sa_handler = keys_end_and_die};
        sigemptyset(&then.sa_mask);
        if (sigaction(deadly[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) sigaction(deadly[i], &then, NULL);
    }
    struct termios keys = keys_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys_taken = 1;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys) == 0) return 0;
    keys_taken = 0;
    return -errno;
}

int cs_is_terminal(int fd) { return isatty(fd); }

int cs_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

const char *cs_environment(size_t index) {
    for (size_t i = 0; environ[i] != NULL; i++)
        if (i == index) return environ[i];
    return NULL;
}

int cs_utc_offset(int64_t seconds) {
    time_t time = (time_t)seconds;
    struct tm local;
    if (localtime_r(&time, &local) == NULL) return 0;
    return (int)local.tm_gmtoff;
}

void cs_sleep(int milliseconds) {
    struct timespec rest = {.tv_sec = milliseconds / 1000, .tv_nsec = (milliseconds % 1000) * 1000000L};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR) {
    }
}

int cs_temporary(char *path, int suffix_length) {
    int fd = mkstemps(path, suffix_length);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

int cs_execute(char *const arguments[]) {
    execvp(arguments[0], arguments);
    return -errno;
}

int cs_edit(const char *command, const char *path) {
    size_t length = strlen(command) + sizeof " \"$1\"";
    char *script = malloc(length);
    if (script == NULL) return -ENOMEM;
    strcpy(script, command);
    strcat(script, " \"$1\"");
    char *const arguments[] = {"sh", "-c", script, "sh", (char *)path, NULL};
    pid_t child;
    int error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    free(script);
    if (error != 0) return -error;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
