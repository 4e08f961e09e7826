#define _GNU_SOURCE
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "csystem_client.h"
#include "csystem_access.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
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
    short events = for_writing == 2 ? POLLIN | POLLOUT : for_writing ? POLLOUT : POLLIN;
    struct pollfd one = {.fd = fd, .events = events};
    int result;
    do {
        result = poll(&one, 1, milliseconds);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

static volatile sig_atomic_t screen_shown;
static volatile sig_atomic_t screen_changed;

int cs_wait_two(int first, int second, int milliseconds) {
    struct pollfd both[] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
    int result;
    do {
        result = poll(both, 2, milliseconds);
    } while (result < 0 && errno == EINTR && !screen_changed);
    if (result < 0) return errno == EINTR ? 0 : -errno;
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

// Gives the screen back as it was. Called by handlers too: it only writes.
static void screen_hide(void) {
    if (!screen_shown) return;
    screen_shown = 0;
    static const char shown[] = "\033[?7h\033[?25h\033[?1049l";
    ssize_t count = write(STDOUT_FILENO, shown, sizeof shown - 1);
    (void)count;
}

static void keys_end_and_die(int number) {
    screen_hide();
    cs_keys_end();
    signal(number, SIG_DFL);
    raise(number);
}

static int keys_set(void) {
    struct termios keys = keys_before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
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
    keys_taken = 1;
    if (keys_set() == 0) return 0;
    keys_taken = 0;
    return -errno;
}

// Ctrl-Z: the shell gets its screen and its lines, and the process stops here until it is continued.
static void screen_stop(int number) {
    int error = errno;
    screen_hide();
    cs_keys_end();
    struct sigaction again, usual = {.sa_handler = SIG_DFL};
    sigemptyset(&usual.sa_mask);
    sigaction(number, &usual, &again);
    raise(number);
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(number, &again, NULL);
    screen_changed = 1;
    errno = error;
}

static void screen_resize(int number) {
    (void)number;
    screen_changed = 1;
}

// Also after a SIGSTOP, which nobody can handle: the shell has set the terminal's mode meanwhile.
static void screen_continue(int number) {
    (void)number;
    screen_shown = 0;
    screen_changed = 1;
}

int cs_screen_begin(void) {
    int result = cs_keys_begin();
    if (result < 0) return result;
    static const struct {
        int number;
        void (*handler)(int);
    } handled[] = {{SIGTSTP, screen_stop}, {SIGCONT, screen_continue}, {SIGWINCH, screen_resize}};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        struct sigaction now, then = {.sa_handler = handled[i].handler, .sa_flags = SA_RESTART};
        sigemptyset(&then.sa_mask);
        if (sigaction(handled[i].number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(handled[i].number, &then, NULL);
    }
    return 0;
}

int cs_screen_show(void) {
    if (!cs_is_foreground()) return 0;
    if (!screen_changed && screen_shown) return 1;
    screen_changed = 0;
    if (!screen_shown) {
        if (keys_taken ? keys_set() < 0 : cs_keys_begin() < 0) return 0;
        screen_shown = 1;
        // Without a cursor and without line breaks of its own.
        static const char taken[] = "\033[?1049h\033[?25l\033[?7l";
        if (cs_write_all(STDOUT_FILENO, taken, sizeof taken - 1) < 0) return 0;
    }
    return 2;
}

void cs_screen_end(void) {
    screen_hide();
    cs_keys_end();
}

int cs_is_terminal(int fd) { return isatty(fd); }

int cs_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cs_rows(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
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
