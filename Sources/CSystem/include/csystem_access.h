// The peer of a socket, the addresses of this host, and read(2) and write(2) that repeat after EINTR.
// Every function returns 0 or a positive count on success and -errno on failure.
#pragma once
#include <stddef.h>
#include <stdint.h>

// The credentials of a unix socket's peer at connect(2). `pid` is 0 where the system does not report it.
int cs_peer_credentials(int fd, uint32_t *uid, uint32_t *gid, int32_t *pid);

// The local and remote address of a connected internet socket; IPv4 is written as v4-mapped IPv6 (RFC 4291 §2.5.5.2).
int cs_socket_ends(int fd, uint8_t local[16], uint16_t *local_port, uint8_t remote[16], uint16_t *remote_port);

// Opens a netlink socket for the two lookups below; -EPROTONOSUPPORT where the system has none.
int cs_diag_open(void);

struct cs_socket_owner {
    uint32_t uid;
    uint64_t inode;
    uint8_t state; // the kernel's TCP state number; 1 is ESTABLISHED
};

// Finds the socket with exactly this `source` and `destination`. -ENOENT when the kernel has none; a listener or
// another tuple that the kernel offers instead counts as none.
int cs_diag_owner(int diag, const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner);

// The same lookup in /proc/net/tcp and tcp6, for systems that filter netlink. Its cost grows with the number of
// sockets.
int cs_proc_owner(const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
                       uint16_t destination_port, struct cs_socket_owner *owner);

// Returns 1 when our side of the connection is open, ESTABLISHED or CLOSE_WAIT, and 0 in any other state.
int cs_is_connected(int fd);

// read(2) and write(2), repeated after EINTR. The write continues until all bytes are written, and waits if the
// descriptor is non-blocking.
int64_t cs_read_some(int fd, void *bytes, size_t count);
int cs_write_all(int fd, const void *bytes, size_t count);

struct cs_interface_address {
    uint8_t address[16]; // IPv4 as v4-mapped
    uint32_t index;
    uint32_t flags; // bit 0 up, bit 1 loopback, bit 2 multicast
    char name[32];
};
// Writes the addresses of this host's interfaces, at most `capacity`, and returns the number written.
int cs_interface_addresses(struct cs_interface_address *out, int capacity);

// Opens a socket that becomes readable when this host gains or loses an address; callers may ignore the message itself.
// -EPROTONOSUPPORT where the system has none.
int cs_address_changes(void);
