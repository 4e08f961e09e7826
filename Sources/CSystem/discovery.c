#define _GNU_SOURCE
#include "csystem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

static int64_t now_milliseconds(void) { return (int64_t)(cs_monotonic_ns() / 1000000); }

static int non_blocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return -errno;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return -errno;
    return 0;
}

static socklen_t fill(struct sockaddr_storage *out, int ipv6, const uint8_t address[16], uint16_t port, uint32_t scope) {
    memset(out, 0, sizeof *out);
    if (ipv6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
        v6->sin6_family = AF_INET6;
        memcpy(&v6->sin6_addr, address, 16);
        v6->sin6_port = htons(port);
        v6->sin6_scope_id = scope;
        return sizeof *v6;
    }
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    v4->sin_family = AF_INET;
    memcpy(&v4->sin_addr, address + 12, 4);
    v4->sin_port = htons(port);
    return sizeof *v4;
}

int cs_dns_open(int ipv6, uint32_t interface_index, const uint8_t interface_address[16]) {
    int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) return -errno;
    int result = non_blocking(fd);
    if (result == 0) {
        // RFC 6762 §11: multicast DNS is sent with TTL 255, although it never travels more than one hop.
        if (ipv6) {
            int on = 1, hops = 255;
            if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0 ||
                setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0 ||
                (interface_index != 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &interface_index,
                                                    sizeof interface_index) != 0)) {
                result = -errno;
            }
        } else {
            unsigned char hops = 255;
            struct in_addr through;
            memcpy(&through, interface_address + 12, 4);
            if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops) != 0 ||
                (interface_index != 0 &&
                 setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &through, sizeof through) != 0)) {
                result = -errno;
            }
        }
    }
    if (result == 0) {
        struct sockaddr_storage any;
        static const uint8_t zero[16];
        socklen_t length = fill(&any, ipv6, zero, 0, 0);
        if (bind(fd, (struct sockaddr *)&any, length) != 0) result = -errno;
    }
    if (result != 0) {
        close(fd);
        return result;
    }
    return fd;
}

int cs_dns_send(int fd, int ipv6, const uint8_t address[16], uint16_t port, uint32_t scope, const void *bytes,
                     size_t count) {
    struct sockaddr_storage to;
    socklen_t length = fill(&to, ipv6, address, port, scope);
    ssize_t sent;
    do {
        sent = sendto(fd, bytes, count, 0, (struct sockaddr *)&to, length);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

int cs_dns_receive(int fd, void *bytes, size_t capacity, uint8_t from[16], uint16_t *from_port) {
    struct sockaddr_storage sender;
    socklen_t length = sizeof sender;
    ssize_t count;
    do {
        count = recvfrom(fd, bytes, capacity, MSG_DONTWAIT, (struct sockaddr *)&sender, &length);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    if (sender.ss_family == AF_INET6) {
        memcpy(from, &((struct sockaddr_in6 *)&sender)->sin6_addr, 16);
        *from_port = ntohs(((struct sockaddr_in6 *)&sender)->sin6_port);
    } else {
        memset(from, 0, 10);
        from[10] = from[11] = 0xff;
        memcpy(from + 12, &((struct sockaddr_in *)&sender)->sin_addr, 4);
        *from_port = ntohs(((struct sockaddr_in *)&sender)->sin_port);
    }
    return (int)count;
}

int cs_dns_wait(const int *fds, uint8_t *ready, int count, int milliseconds) {
    struct pollfd list[64];
    if (count < 0 || count > 64) return -EINVAL;
    for (int index = 0; index < count; index++) list[index] = (struct pollfd){.fd = fds[index], .events = POLLIN};
    int result = poll(list, (nfds_t)count, milliseconds < 0 ? 0 : milliseconds);
    if (result < 0) {
        if (errno != EINTR) return -errno;
        result = 0;
        for (int index = 0; index < count; index++) list[index].revents = 0;
    }
    for (int index = 0; index < count; index++) ready[index] = list[index].revents != 0;
    return result;
}

// Waits until the socket is ready for `events`; returns 0 when it is, -ETIMEDOUT at the deadline.
static int await(int fd, short events, int64_t deadline) {
    for (;;) {
        int64_t left = deadline - now_milliseconds();
        if (left <= 0) return -ETIMEDOUT;
        struct pollfd one = {.fd = fd, .events = events};
        int result = poll(&one, 1, (int)left);
        if (result > 0) return 0;
        if (result < 0 && errno != EINTR) return -errno;
    }
}

static int transfer(int fd, char *bytes, size_t count, int sending, int64_t deadline) {
    while (count > 0) {
        ssize_t done = sending ? send(fd, bytes, count, MSG_NOSIGNAL) : recv(fd, bytes, count, 0);
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        } else if (done == 0) {
            return -ECONNRESET;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int result = await(fd, sending ? POLLOUT : POLLIN, deadline);
            if (result != 0) return result;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int cs_dns_tcp(const uint8_t address[16], uint16_t port, const void *question, size_t count, void *answer,
                    size_t capacity, int milliseconds) {
    static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (count > 65535) return -EMSGSIZE;
    int ipv6 = memcmp(address, mapped_prefix, 12) != 0;
    int64_t deadline = now_milliseconds() + milliseconds;
    int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    int result = non_blocking(fd);
    if (result == 0) {
        struct sockaddr_storage to;
        socklen_t length = fill(&to, ipv6, address, port, 0);
        if (connect(fd, (struct sockaddr *)&to, length) != 0) result = errno == EINPROGRESS ? 0 : -errno;
        if (result == 0) result = await(fd, POLLOUT, deadline);
        if (result == 0) {
            int failure = 0;
            socklen_t size = sizeof failure;
            if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
            result = -failure;
        }
    }
    uint8_t prefix[2] = {(uint8_t)(count >> 8), (uint8_t)count};
    if (result == 0) result = transfer(fd, (char *)prefix, 2, 1, deadline);
    if (result == 0) result = transfer(fd, (char *)question, count, 1, deadline);
    if (result == 0) result = transfer(fd, (char *)prefix, 2, 0, deadline);
    if (result == 0) {
        size_t expected = (size_t)prefix[0] << 8 | prefix[1];
        if (expected > capacity) result = -EMSGSIZE;
        else result = transfer(fd, answer, expected, 0, deadline);
        if (result == 0) result = (int)expected;
    }
    close(fd);
    return result;
}

int cs_dns_local_port(int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return -errno;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}
