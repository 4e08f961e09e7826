#define _GNU_SOURCE
#include "csystem.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __APPLE__
#include <launch.h>
#include <stdlib.h>
#endif
#ifdef __linux__
#include <linux/sockios.h>
#endif

int cs_adopt(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -errno;
#ifdef SO_NOSIGPIPE
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return 0;
}

static int failed(int fd) {
    int error = -errno;
    close(fd);
    return error;
}

static int new_socket(int family) {
#ifdef __linux__
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
#else
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    int result = cs_adopt(fd);
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
#endif
}

static socklen_t to_sockaddr(const struct cs_address *a, struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (a->family == CS_FAMILY_IPV4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(a->port);
        memcpy(&v4->sin_addr, a->bytes, 4);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(a->port);
    v6->sin6_scope_id = a->scope;
    memcpy(&v6->sin6_addr, a->bytes, 16);
    return sizeof *v6;
}

static void from_sockaddr(const struct sockaddr_storage *in, struct cs_address *a) {
    memset(a, 0, sizeof *a);
    if (in->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)in;
        a->family = CS_FAMILY_IPV4;
        a->port = ntohs(v4->sin_port);
        memcpy(a->bytes, &v4->sin_addr, 4);
    } else if (in->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)in;
        a->family = CS_FAMILY_IPV6;
        a->port = ntohs(v6->sin6_port);
        a->scope = v6->sin6_scope_id;
        memcpy(a->bytes, &v6->sin6_addr, 16);
    } else if (in->ss_family == AF_UNIX) {
        a->family = CS_FAMILY_UNIX;
    }
}

int cs_tcp_listen(const struct cs_address *address, int backlog) {
    struct sockaddr_storage storage;
    socklen_t length = to_sockaddr(address, &storage);
    int fd = new_socket(storage.ss_family);
    if (fd < 0) return fd;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (storage.ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&storage, length) < 0 || listen(fd, backlog) < 0) return failed(fd);
    return fd;
}

int cs_tcp_connect(const struct cs_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = to_sockaddr(address, &storage);
    int fd = new_socket(storage.ss_family);
    if (fd < 0) return fd;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&storage, length) < 0 && errno != EINPROGRESS) return failed(fd);
    return fd;
}

void cs_drop_unsent(int fd, int milliseconds) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
#ifdef TCP_USER_TIMEOUT
    unsigned wait = (unsigned)milliseconds;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &wait, sizeof wait);
#endif
}

static int unix_address(const char *path, struct sockaddr_un *out) {
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof out->sun_path) return -ENAMETOOLONG;
    strcpy(out->sun_path, path);
    return 0;
}

int cs_unix_listen(const char *path, uint32_t mode, int backlog) {
    struct sockaddr_un address;
    int result = unix_address(path, &address);
    if (result < 0) return result;
    int fd = new_socket(AF_UNIX);
    if (fd < 0) return fd;
    // The mask keeps the socket private between bind and chmod. The loop is not running yet, so no other thread makes
    // files now.
    mode_t before = umask(0177);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    umask(before);
    errno = error;
    if (bound < 0) return failed(fd);
    if (chmod(path, (mode_t)mode) < 0 || listen(fd, backlog) < 0) return failed(fd);
    return fd;
}

int cs_unix_connect(const char *path) {
    struct sockaddr_un address;
    int result = unix_address(path, &address);
    if (result < 0) return result;
    int fd = new_socket(AF_UNIX);
    if (fd < 0) return fd;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) return failed(fd);
    return fd;
}

int cs_unix_send(const char *path, const void *bytes, size_t count) {
    struct sockaddr_un address;
    int result = unix_address(path, &address);
    if (result < 0) return result;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0) return -errno;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    ssize_t sent = sendto(fd, bytes, count, 0, (struct sockaddr *)&address, length);
    int error = errno;
    close(fd);
    return sent < 0 ? -error : 0;
}

int cs_unix_pair(int fds[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0) return -errno;
    cs_adopt(fds[0]);
    cs_adopt(fds[1]);
    return 0;
}

int cs_accept(int listener, struct cs_address *peer) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    memset(&storage, 0, sizeof storage);
    int fd;
    do {
#ifdef __linux__
        fd = accept4(listener, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
        fd = accept(listener, (struct sockaddr *)&storage, &length);
#endif
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) return -errno;
#ifndef __linux__
    cs_adopt(fd);
#endif
    from_sockaddr(&storage, peer);
    if (peer->family != CS_FAMILY_UNIX && peer->family != CS_FAMILY_NONE) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fd;
}

int cs_local_address(int fd, struct cs_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    memset(&storage, 0, sizeof storage);
    if (getsockname(fd, (struct sockaddr *)&storage, &length) < 0) return -errno;
    from_sockaddr(&storage, address);
    return 0;
}

int cs_peer_address(int fd, struct cs_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    memset(&storage, 0, sizeof storage);
    if (getpeername(fd, (struct sockaddr *)&storage, &length) < 0) return -errno;
    from_sockaddr(&storage, address);
    return 0;
}

int cs_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return -errno;
    return -error;
}

ssize_t cs_read(int fd, void *buffer, size_t length) {
    ssize_t count;
    do count = recv(fd, buffer, length, 0);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

ssize_t cs_write(int fd, const void *buffer, size_t length) {
    ssize_t count;
#ifdef MSG_NOSIGNAL
    do count = send(fd, buffer, length, MSG_NOSIGNAL);
#else
    do count = send(fd, buffer, length, 0);
#endif
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int cs_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }

int cs_unsent(int fd) {
#ifdef __linux__
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) < 0 ? -1 : count;
#else
    (void)fd;
    return -1;
#endif
}

void cs_close(int fd) { close(fd); }

int cs_is_listening(int fd) {
    int value = 0;
    socklen_t length = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) < 0) return -errno;
    return value;
}

int cs_resolve(const char *host, uint16_t port, bool numeric_only, struct cs_address *addresses, int capacity) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = numeric_only ? AI_NUMERICHOST : AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    int result = getaddrinfo(host, NULL, &hints, &list);
    if (result != 0) return result == EAI_SYSTEM ? -errno : -ENOENT;
    int count = 0;
    for (struct addrinfo *item = list; item && count < capacity; item = item->ai_next) {
        struct sockaddr_storage storage;
        memset(&storage, 0, sizeof storage);
        if (item->ai_addrlen > sizeof storage) continue;
        memcpy(&storage, item->ai_addr, item->ai_addrlen);
        from_sockaddr(&storage, &addresses[count]);
        if (addresses[count].family == CS_FAMILY_NONE) continue;
        addresses[count].port = port;
        count++;
    }
    freeaddrinfo(list);
    return count;
}

int64_t cs_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    rlim_t wanted = limit.rlim_max;
#ifdef __APPLE__
    if (wanted == RLIM_INFINITY || wanted > 10240) wanted = 10240; // OPEN_MAX: setrlimit refuses more
#endif
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit.rlim_cur = wanted;
    }
    return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

int cs_forbid_core_files(void) {
    struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

int cs_ignore_sigpipe(void) { return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0; }

int cs_launchd_sockets(const char *name, int *fds, int capacity) {
#ifdef __APPLE__
    int *found = NULL;
    size_t count = 0;
    if (launch_activate_socket(name, &found, &count) != 0) return 0;
    int kept = 0;
    for (size_t place = 0; place < count; place++) {
        if (kept < capacity) fds[kept++] = found[place];
        else close(found[place]);
    }
    free(found);
    return kept;
#else
    (void)name, (void)fds, (void)capacity;
    return 0;
#endif
}
