#define _GNU_SOURCE
#include "csystem_access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#endif

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

int cs_peer_credentials(int fd, uint32_t *uid, uint32_t *gid, int32_t *pid) {
#ifdef __linux__
    struct ucred found;
    socklen_t length = sizeof found;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &length) != 0) return -errno;
    if (length != sizeof found || found.uid == (uid_t)-1) return -ENOTCONN;
    *uid = found.uid;
    *gid = found.gid;
    *pid = found.pid;
#else
    uid_t u;
    gid_t g;
    if (getpeereid(fd, &u, &g) != 0) return -errno;
    *uid = u;
    *gid = g;
    *pid = 0;
#endif
    return 0;
}

static int flatten(const struct sockaddr_storage *from, uint8_t out[16], uint16_t *port) {
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        memcpy(out, mapped_prefix, 12);
        memcpy(out + 12, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
        return 0;
    }
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        memcpy(out, &v6->sin6_addr, 16);
        *port = ntohs(v6->sin6_port);
        return 0;
    }
    return -EAFNOSUPPORT;
}

int cs_socket_ends(int fd, uint8_t local[16], uint16_t *local_port, uint8_t remote[16], uint16_t *remote_port) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) return -errno;
    int result = flatten(&address, local, local_port);
    if (result != 0) return result;
    length = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &length) != 0) return -errno;
    return flatten(&address, remote, remote_port);
}

#ifdef __linux__

int cs_diag_open(void) {
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    return fd < 0 ? -errno : fd;
}

int cs_address_changes(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl groups = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    if (bind(fd, (struct sockaddr *)&groups, sizeof groups) != 0) {
        int failure = -errno;
        close(fd);
        return failure;
    }
    return fd;
}

// Looks up one exact tuple instead of listing all sockets: the kernel hashes it, so the cost does not grow with the
// number of sockets. The kernel answers inside sendto(2), so recv(2) does not wait.
int cs_diag_owner(int diag, const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner) {
    int v4 = memcmp(source, mapped_prefix, 12) == 0 && memcmp(destination, mapped_prefix, 12) == 0;
    static _Thread_local uint32_t sequence;
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request;
    memset(&request, 0, sizeof request);
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    request.head.nlmsg_seq = ++sequence;
    request.body.sdiag_family = v4 ? AF_INET : AF_INET6;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0U;
    request.body.id.idiag_sport = htons(source_port);
    request.body.id.idiag_dport = htons(destination_port);
    memcpy(request.body.id.idiag_src, v4 ? source + 12 : source, v4 ? 4 : 16);
    memcpy(request.body.id.idiag_dst, v4 ? destination + 12 : destination, v4 ? 4 : 16);
    request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    ssize_t sent;
    do {
        sent = sendto(diag, &request, sizeof request, MSG_DONTWAIT, (struct sockaddr *)&kernel, sizeof kernel);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return -errno;

    // The sequence number identifies late replies to interrupted questions, which are skipped; eight rounds are more
    // than enough for them.
    for (int round = 0; round < 8; round++) {
        _Alignas(struct nlmsghdr) char reply[1024];
        struct sockaddr_nl from;
        socklen_t from_length = sizeof from;
        ssize_t count;
        do {
            count = recvfrom(diag, reply, sizeof reply, MSG_DONTWAIT, (struct sockaddr *)&from, &from_length);
        } while (count < 0 && errno == EINTR);
        if (count < 0) return -errno;
        const struct nlmsghdr *head = (const struct nlmsghdr *)reply;
        if (from.nl_pid != 0 || !NLMSG_OK(head, (size_t)count) || head->nlmsg_seq != sequence) continue;
        if (head->nlmsg_type == NLMSG_ERROR) {
            if (head->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr))) return -EPROTO;
            int error = ((const struct nlmsgerr *)NLMSG_DATA(head))->error;
            return error < 0 ? error : -EPROTO;
        }
        if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
            head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) {
            return -EPROTO;
        }
        const struct inet_diag_msg *found = NLMSG_DATA(head);
        // When it finds no established socket, the kernel returns a listener on the same port.
        if (found->id.idiag_sport != request.body.id.idiag_sport ||
            found->id.idiag_dport != request.body.id.idiag_dport) {
            return -ENOENT;
        }
        uint8_t seen_source[16], seen_destination[16];
        if (found->idiag_family == AF_INET) {
            memcpy(seen_source, mapped_prefix, 12);
            memcpy(seen_source + 12, found->id.idiag_src, 4);
            memcpy(seen_destination, mapped_prefix, 12);
            memcpy(seen_destination + 12, found->id.idiag_dst, 4);
        } else {
            memcpy(seen_source, found->id.idiag_src, 16);
            memcpy(seen_destination, found->id.idiag_dst, 16);
        }
        if (memcmp(seen_source, source, 16) != 0 || memcmp(seen_destination, destination, 16) != 0) return -ENOENT;
        owner->uid = found->idiag_uid;
        owner->inode = found->idiag_inode;
        owner->state = found->idiag_state;
        return 0;
    }
    return -EPROTO;
}

// /proc prints each 32-bit group of an address in host order.
static void proc_address(char *out, const uint8_t *address, int groups, uint16_t port) {
    for (int group = 0; group < groups; group++) {
        uint32_t word;
        memcpy(&word, address + 4 * group, 4);
        out += sprintf(out, "%08X", word);
    }
    sprintf(out, ":%04X", port);
}

static int proc_search(const char *path, const char *tuple, struct cs_socket_owner *owner) {
    FILE *table = fopen(path, "re");
    if (table == NULL) return -errno;
    char line[512];
    int result = -ENOENT;
    while (fgets(line, sizeof line, table) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon == NULL || colon[1] != ' ') continue;
        size_t length = strlen(tuple);
        if (strncmp(colon + 2, tuple, length) != 0) continue;
        unsigned state, uid;
        unsigned long long inode;
        if (sscanf(colon + 2 + length, " %x %*x:%*x %*x:%*x %*x %u %*u %llu", &state, &uid, &inode) != 3) continue;
        owner->state = (uint8_t)state;
        owner->uid = uid;
        owner->inode = inode;
        result = 0;
        break;
    }
    fclose(table);
    return result;
}

int cs_proc_owner(const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner) {
    char tuple[128], second[64];
    if (memcmp(source, mapped_prefix, 12) == 0 && memcmp(destination, mapped_prefix, 12) == 0) {
        proc_address(tuple, source + 12, 1, source_port);
        proc_address(second, destination + 12, 1, destination_port);
        strcat(strcat(tuple, " "), second);
        if (proc_search("/proc/net/tcp", tuple, owner) == 0) return 0;
        // An IPv6 socket connected to a v4-mapped address is listed in tcp6.
    }
    proc_address(tuple, source, 4, source_port);
    proc_address(second, destination, 4, destination_port);
    strcat(strcat(tuple, " "), second);
    return proc_search("/proc/net/tcp6", tuple, owner);
}

int cs_is_connected(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -errno;
    return info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT;
}

#else

int cs_diag_open(void) { return -EPROTONOSUPPORT; }

int cs_address_changes(void) { return -EPROTONOSUPPORT; }

int cs_diag_owner(int diag, const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner) {
    return -EPROTONOSUPPORT;
}

int cs_proc_owner(const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner) {
    return -EPROTONOSUPPORT;
}

int cs_is_connected(int fd) { return -EPROTONOSUPPORT; }

#endif

int64_t cs_read_some(int fd, void *bytes, size_t count) {
    ssize_t result;
    do {
        result = read(fd, bytes, count);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

int cs_write_all(int fd, const void *bytes, size_t count) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t written = write(fd, next, count);
        if (written < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) return -errno;
            // Another process may have made a shared terminal or pipe non-blocking.
            struct pollfd one = {.fd = fd, .events = POLLOUT};
            poll(&one, 1, -1);
            continue;
        }
        next += written;
        count -= (size_t)written;
    }
    return 0;
}

int cs_interface_addresses(struct cs_interface_address *out, int capacity) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) return -errno;
    int count = 0;
    for (const struct ifaddrs *entry = list; entry != NULL && count < capacity; entry = entry->ifa_next) {
        if (entry->ifa_addr == NULL) continue;
        struct cs_interface_address *slot = &out[count];
        memset(slot, 0, sizeof *slot);
        if (entry->ifa_addr->sa_family == AF_INET) {
            memcpy(slot->address, mapped_prefix, 12);
            memcpy(slot->address + 12, &((const struct sockaddr_in *)entry->ifa_addr)->sin_addr, 4);
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            memcpy(slot->address, &((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, 16);
        } else {
            continue;
        }
        slot->index = if_nametoindex(entry->ifa_name);
        slot->flags = ((entry->ifa_flags & IFF_UP) ? 1u : 0u) | ((entry->ifa_flags & IFF_LOOPBACK) ? 2u : 0u) |
                      ((entry->ifa_flags & IFF_MULTICAST) ? 4u : 0u);
        strncpy(slot->name, entry->ifa_name, sizeof slot->name - 1);
        count++;
    }
    freeifaddrs(list);
    return count;
}
