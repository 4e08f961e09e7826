// UDP and TCP sockets for DNS questions, with deadlines. The calls block: use them in command-line processes, never on
// an event loop.
// Every function returns 0 or a positive value on success and -errno on failure. IPv4 addresses are v4-mapped.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Opens a UDP socket for one family (0: IPv4, 1: IPv6) on a free port, ready to multicast through one interface.
int cs_dns_open(int ipv6, uint32_t interface_index, const uint8_t interface_address[16]);
int cs_dns_send(int fd, int ipv6, const uint8_t address[16], uint16_t port, uint32_t scope, const void *bytes,
                     size_t count);
// Receives one datagram and its sender; a datagram of 0 bytes is possible. -EAGAIN when none is waiting.
int cs_dns_receive(int fd, void *bytes, size_t capacity, uint8_t from[16], uint16_t *from_port);
// Waits until a descriptor is readable and sets its ready[i]. Returns the number of ready ones, 0 at the deadline.
int cs_dns_wait(const int *fds, uint8_t *ready, int count, int milliseconds);
// Asks one question over TCP (RFC 1035 §4.2.2), adding and removing the length prefixes. Returns the answer's length.
int cs_dns_tcp(const uint8_t address[16], uint16_t port, const void *question, size_t count, void *answer,
                    size_t capacity, int milliseconds);
int cs_dns_local_port(int fd);
