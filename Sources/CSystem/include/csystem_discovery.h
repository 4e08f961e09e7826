// UDP and TCP sockets for DNS questions, with deadlines: for command-line processes, never for an event loop.
// Every function returns 0 or a positive value on success and -errno on failure. IPv4 addresses are v4-mapped.
#pragma once
#include <stddef.h>
#include <stdint.h>

// A UDP socket for one family (0: IPv4, 1: IPv6) on a free port, ready to multicast through one interface.
int cs_dns_open(int ipv6, uint32_t interface_index, const uint8_t interface_address[16]);
int cs_dns_send(int fd, int ipv6, const uint8_t address[16], uint16_t port, uint32_t scope, const void *bytes,
                     size_t count);
// One datagram and who sent it; 0 bytes is a datagram too. -EAGAIN when nothing waits.
int cs_dns_receive(int fd, void *bytes, size_t capacity, uint8_t from[16], uint16_t *from_port);
// Waits until one of the descriptors is readable; sets ready[i]. Returns how many, 0 at the deadline.
int cs_dns_wait(const int *fds, uint8_t *ready, int count, int milliseconds);
// One question over TCP (RFC 1035 §4.2.2), both lengths handled here. Returns the answer's length.
int cs_dns_tcp(const uint8_t address[16], uint16_t port, const void *question, size_t count, void *answer,
                    size_t capacity, int milliseconds);
int cs_dns_local_port(int fd);
