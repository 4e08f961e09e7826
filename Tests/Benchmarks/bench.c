// Measures Ladle beside the least a server can do, in one run on one machine.
//
//   bench reference PORT                  the least: one thread, epoll, one write per subscriber
//   bench fan ADDRESS PATH PIDS COUNT SECONDS    COUNT subscribers read events that carry "seq" and "ts_ns"
//   bench rest ADDRESS PATH PIDS CONNECTIONS SECONDS [FIELD [turns]]    keep-alive GETs, one under way on each connection;
//       by turns with another field, so that no head is the one before it
//   bench publish PORT EVENTS RATE        posts EVENTS to the reference, RATE a second
//
// Each measurement prints one line of JSON: work done, server CPU per unit from /proc/PID/task/*/schedstat, percentiles.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 65536, CARRY = 512 };

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

static void raise_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// ---- the other process's CPU and memory ----

static double cpu_seconds(const char *pids) {
    double total = 0;
    char list[256];
    snprintf(list, sizeof list, "%s", pids);
    for (char *pid = strtok(list, ","); pid; pid = strtok(NULL, ",")) {
        char path[512];
        snprintf(path, sizeof path, "/proc/%s/task", pid);
        DIR *tasks = opendir(path);
        if (!tasks) continue;
        for (struct dirent *entry; (entry = readdir(tasks));) {
            if (!isdigit((unsigned char)entry->d_name[0])) continue;
            snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, entry->d_name);
            FILE *file = fopen(path, "r");
            unsigned long long ran;
            if (file && fscanf(file, "%llu", &ran) == 1) total += (double)ran / 1e9;
            if (file) fclose(file);
        }
        closedir(tasks);
    }
    return total;
}

static long resident_kib(const char *pids) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", atoi(pids));
    FILE *file = fopen(path, "r");
    long value = 0;
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &value);
    if (file) fclose(file);
    return value;
}

// ---- sockets ----

static struct sockaddr_in address_of(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    const char *colon = strrchr(text, ':');
    if (!colon || colon - text >= (long)sizeof host) give_up("address");
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = 0;
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) give_up("address");
    return address;
}

static int dial(const char *text) {
    struct sockaddr_in address = address_of(text);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) give_up(text);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void send_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = write(fd, bytes, length);
        if (sent < 0) give_up("write");
        bytes += sent;
        length -= (size_t)sent;
    }
}

// ---- the reference ----

struct peer {
    int fd, place;
    bool subscribed;
    size_t held;
    char head[4096];
};

static struct peer **subscribers;
static int subscriber_count, subscriber_room;

static void leave(struct peer *peer) {
    if (peer->subscribed) {
        subscribers[peer->place] = subscribers[--subscriber_count];
        subscribers[peer->place]->place = peer->place;
    }
    close(peer->fd);
    free(peer);
}

static void fan_out(const char *body, size_t length) {
    static uint64_t id;
    static char event[CHUNK];
    int size = snprintf(event, sizeof event, "id: %llu\ndata: %.*s\n\n", (unsigned long long)++id, (int)length, body);
    for (int i = 0; i < subscriber_count; i++) (void)!write(subscribers[i]->fd, event, (size_t)size);
}

static bool serve(struct peer *peer) {
    static const char pong[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"ok\"}";
    static const char stream[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n";
    static const char done[] = "HTTP/1.1 204 No Content\r\n\r\n";
    ssize_t count = read(peer->fd, peer->head + peer->held, sizeof peer->head - 1 - peer->held);
    if (count <= 0) return false;
    peer->held += (size_t)count;
    peer->head[peer->held] = 0;
    char *end;
    while ((end = strstr(peer->head, "\r\n\r\n"))) {
        size_t used = (size_t)(end - peer->head) + 4, body = 0;
        char *length = strcasestr(peer->head, "content-length:");
        if (length && length < end) body = (size_t)atoi(length + 15);
        if (used + body > peer->held) return peer->held < sizeof peer->head - 1;
        if (!strncmp(peer->head, "GET /events", 11)) {
            send_all(peer->fd, stream, sizeof stream - 1);
            if (subscriber_count == subscriber_room) {
                subscriber_room = subscriber_room ? 2 * subscriber_room : 1024;
                subscribers = realloc(subscribers, (size_t)subscriber_room * sizeof *subscribers);
            }
            peer->place = subscriber_count;
            peer->subscribed = true;
            subscribers[subscriber_count++] = peer;
        } else if (!strncmp(peer->head, "POST", 4)) {
            fan_out(peer->head + used, body);
            send_all(peer->fd, done, sizeof done - 1);
        } else {
            send_all(peer->fd, pong, sizeof pong - 1);
        }
        peer->held -= used + body;
        memmove(peer->head, peer->head + used + body, peer->held + 1);
    }
    return true;
}

__attribute__((noreturn)) static void reference(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, poll = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 4096) < 0) give_up("listen");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event ready[256];
        int count = epoll_wait(poll, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            struct peer *peer = ready[i].data.ptr;
            if (peer) {
                if (!serve(peer)) leave(peer);
                continue;
            }
            int fd = accept(listener, NULL, NULL);
            if (fd < 0) continue;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            peer = calloc(1, sizeof *peer);
            peer->fd = fd;
            event = (struct epoll_event){.events = EPOLLIN, .data.ptr = peer};
            epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        }
    }
}

static int publish(const char *port, long events, double rate) {
    char place[64], request[512], answer[256];
    snprintf(place, sizeof place, "127.0.0.1:%s", port);
    int fd = dial(place);
    uint64_t start = now_ns();
    for (long i = 1; i <= events; i++) {
        uint64_t due = start + (uint64_t)((double)i / rate * 1e9), now = now_ns();
        if (due > now) {
            struct timespec wait = {(time_t)((due - now) / 1000000000u), (long)((due - now) % 1000000000u)};
            nanosleep(&wait, NULL);
        }
        char body[256];
        // As long as one of Ladle's own delta events.
        int length = snprintf(body, sizeof body, "{\"seq\":%ld,\"ts_ns\":%llu,\"pad\":\"%0120d\"}", i, (unsigned long long)now_ns(), 0);
        int size = snprintf(request, sizeof request, "POST /pub HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, body);
        send_all(fd, request, (size_t)size);
        if (read(fd, answer, sizeof answer) <= 0) give_up("answer");
    }
    return 0;
}

// ---- subscribers ----

struct reader {
    int fd;
    uint64_t last;
    size_t carried;
    char carry[CARRY];
};

static uint64_t *samples;
static size_t sample_count, sample_room;
static uint64_t deliveries, repeats, gaps;

static const char *number_after(const char *at, const char *end, const char *name, uint64_t *value) {
    const char *found = memmem(at, (size_t)(end - at), name, strlen(name));
    if (!found) return NULL;
    found += strlen(name);
    // The text may be JSON inside JSON: a quote with a backslash, a colon.
    while (found < end && !isdigit((unsigned char)*found)) found++;
    const char *digits = found;
    *value = 0;
    while (found < end && isdigit((unsigned char)*found)) *value = *value * 10 + (uint64_t)(*found++ - '0');
    return found == end || found == digits ? NULL : found;
}

static void look(struct reader *reader, const char *bytes, size_t length, uint64_t at_ns) {
    static char joined[CARRY + CHUNK];
    memcpy(joined, reader->carry, reader->carried);
    memcpy(joined + reader->carried, bytes, length);
    const char *at = joined, *end = joined + reader->carried + length;
    for (;;) {
        uint64_t seq, stamp;
        const char *after = number_after(at, end, "seq", &seq);
        if (!after) break;
        after = number_after(after, end, "ts_ns", &stamp);
        if (!after) break;
        at = after;
        deliveries++;
        if (seq <= reader->last) repeats++;
        if (reader->last && seq > reader->last + 1) gaps++;
        reader->last = seq;
        if (sample_count == sample_room) {
            sample_room = sample_room ? 2 * sample_room : 1 << 20;
            samples = realloc(samples, sample_room * sizeof *samples);
        }
        samples[sample_count++] = at_ns > stamp ? at_ns - stamp : 0;
    }
    reader->carried = (size_t)(end - at) < CARRY ? (size_t)(end - at) : CARRY;
    memcpy(reader->carry, end - reader->carried, reader->carried);
}

static int fan(const char *place, const char *path, const char *pids, int count, double seconds) {
    struct reader *readers = calloc((size_t)count, sizeof *readers);
    int poll = epoll_create1(0);
    long before_kib = resident_kib(pids);
    char request[512];
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", path, place);
    for (int i = 0; i < count; i++) {
        readers[i].fd = dial(place);
        send_all(readers[i].fd, request, (size_t)size);
        fcntl(readers[i].fd, F_SETFL, O_NONBLOCK);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &readers[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, readers[i].fd, &event);
    }
    struct timespec settle = {1, 0};
    nanosleep(&settle, NULL);
    long after_kib = resident_kib(pids);
    fprintf(stderr, "ready\n");
    double cpu = -1;
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    static char buffer[CHUNK];
    while (now_ns() < end) {
        struct epoll_event ready[256];
        int found = epoll_wait(poll, ready, 256, 50);
        for (int i = 0; i < found; i++) {
            struct reader *reader = ready[i].data.ptr;
            ssize_t length = read(reader->fd, buffer, sizeof buffer);
            if (length <= 0) {
                if (length < 0 && errno == EAGAIN) continue;
                fprintf(stderr, "a subscriber was closed\n");
                return 2;
            }
            look(reader, buffer, (size_t)length, now_ns());
            if (cpu < 0 && deliveries) cpu = cpu_seconds(pids);
        }
    }
    cpu = cpu < 0 ? 0 : cpu_seconds(pids) - cpu;
    qsort(samples, sample_count, sizeof *samples, compare_u64);
    printf("{\"subscribers\":%d,\"deliveries\":%llu,\"cpuUsPerDelivery\":%.3f,\"p50Ms\":%.3f,\"p99Ms\":%.3f,\"repeats\":%llu,\"gaps\":%llu,\"bytesPerSubscriber\":%ld}\n",
           count, (unsigned long long)deliveries, deliveries ? cpu * 1e6 / (double)deliveries : 0,
           sample_count ? (double)samples[sample_count / 2] / 1e6 : 0, sample_count ? (double)samples[sample_count * 99 / 100] / 1e6 : 0,
           (unsigned long long)repeats, (unsigned long long)gaps, (after_kib - before_kib) * 1024 / (count ? count : 1));
    return repeats ? 2 : 0;
}

// ---- requests ----

static int rest(const char *place, const char *path, const char *pids, int count, double seconds, const char *field, int turns) {
    int poll = epoll_create1(0);
    char request[512];
    static char buffer[CHUNK];
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", path, place, field, *field ? "\r\n" : "",
                        turns ? "X-Turn: 0\r\n" : "");
    struct call {
        int fd;
        uint64_t sent;
    } *calls = calloc((size_t)count, sizeof *calls);
    double cpu = cpu_seconds(pids);
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), done = 0;
    for (int i = 0; i < count; i++) {
        calls[i].fd = dial(place);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &calls[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, calls[i].fd, &event);
        calls[i].sent = now_ns();
        send_all(calls[i].fd, request, (size_t)size);
    }
    sample_room = 1 << 22;
    samples = malloc(sample_room * sizeof *samples);
    while (now_ns() < end) {
        struct epoll_event ready[256];
        int found = epoll_wait(poll, ready, 256, 50);
        for (int i = 0; i < found; i++) {
            struct call *call = ready[i].data.ptr;
            // The answer is small and comes in one piece.
            if (read(call->fd, buffer, sizeof buffer) <= 0 || strncmp(buffer, "HTTP/1.1 200", 12)) {
                fprintf(stderr, "not a 200\n");
                return 2;
            }
            uint64_t now = now_ns();
            if (sample_count < sample_room) samples[sample_count++] = now - call->sent;
            done++;
            call->sent = now;
            if (turns) request[size - 5] = (char)('0' + done / (uint64_t)count % 2);
            send_all(call->fd, request, (size_t)size);
        }
    }
    cpu = cpu_seconds(pids) - cpu;
    qsort(samples, sample_count, sizeof *samples, compare_u64);
    printf("{\"connections\":%d,\"requests\":%llu,\"cpuUsPerRequest\":%.3f,\"p50Us\":%.1f,\"p99Us\":%.1f}\n", count,
           (unsigned long long)done, cpu * 1e6 / (double)(done ? done : 1), (double)samples[sample_count / 2] / 1e3,
           (double)samples[sample_count * 99 / 100] / 1e3);
    return 0;
}

int main(int count, char **words) {
    raise_limit();
    if (count == 3 && !strcmp(words[1], "reference")) reference(words[2]);
    if (count == 5 && !strcmp(words[1], "publish")) return publish(words[2], atol(words[3]), atof(words[4]));
    if (count == 7 && !strcmp(words[1], "fan")) return fan(words[2], words[3], words[4], atoi(words[5]), atof(words[6]));
    if (count >= 7 && count <= 9 && !strcmp(words[1], "rest"))
        return rest(words[2], words[3], words[4], atoi(words[5]), atof(words[6]), count > 7 ? words[7] : "", count == 9);
    fprintf(stderr, "bench reference|publish|fan|rest ...; see the head of bench.c\n");
    return 64;
}
