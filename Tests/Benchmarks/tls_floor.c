// The least that TLS 1.3 costs a server: one request in and one answer out, by OpenSSL alone.
//
//   tls_floor CERTIFICATE KEY REQUEST ANSWER    sizes in bytes; prints microseconds of CPU for each cipher suite
//
// Both ends live in this process and hand their records over in memory, as Ladle's own transfer does: no socket, no HTTP,
// no second copy. Only the server's calls are measured: one SSL_read_ex and one SSL_write_ex a round.
#define _GNU_SOURCE
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20000, BATCH = 100, LARGEST = 16384 };

static void give_up(const char *what) {
    fprintf(stderr, "tls_floor: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The bytes that one end has written and the other has not read.
struct pipe {
    unsigned char bytes[BATCH * (LARGEST + 512)];
    size_t start, end;
};

// One direction each: a BIO of this kind reads from one pipe and writes to the other.
struct ends {
    struct pipe *from, *to;
};

static int take(BIO *bio, char *buffer, int capacity) {
    struct pipe *from = ((struct ends *)BIO_get_data(bio))->from;
    size_t count = from->end - from->start;
    BIO_clear_retry_flags(bio);
    if (count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (count > (size_t)capacity) count = (size_t)capacity;
    memcpy(buffer, from->bytes + from->start, count);
    from->start += count;
    if (from->start == from->end) from->start = from->end = 0;
    return (int)count;
}

static int give(BIO *bio, const char *bytes, int count) {
    struct pipe *to = ((struct ends *)BIO_get_data(bio))->to;
    BIO_clear_retry_flags(bio);
    if ((size_t)count > sizeof to->bytes - to->end) return -1;
    memcpy(to->bytes + to->end, bytes, (size_t)count);
    to->end += (size_t)count;
    return count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO *make_bio(struct ends *ends) {
    static BIO_METHOD *method;
    if (!method) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pipe");
        BIO_meth_set_read(method, take);
        BIO_meth_set_write(method, give);
        BIO_meth_set_ctrl(method, control);
    }
    BIO *bio = BIO_new(method);
    BIO_set_data(bio, ends);
    BIO_set_init(bio, 1);
    return bio;
}

static void send_all(SSL *from, const unsigned char *bytes, size_t size) {
    size_t sent;
    if (SSL_write_ex(from, bytes, size, &sent) != 1 || sent != size) give_up("a record was not written");
}

static void receive_all(SSL *to, unsigned char *buffer, size_t size) {
    for (size_t got = 0, count; got < size; got += count)
        if (SSL_read_ex(to, buffer + got, size - got, &count) != 1) give_up("a record was not read");
}

// The least of several tries, in microseconds per round: other work of the machine can only add time.
static double measure(const char *suite, const char *certificate, const char *key, size_t request, size_t answer) {
    static struct pipe up, down;
    static unsigned char text[LARGEST];
    struct ends server_ends = {&up, &down}, client_ends = {&down, &up};
    up.start = up.end = down.start = down.end = 0;
    SSL_CTX *server_context = SSL_CTX_new(TLS_server_method()), *client_context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_use_certificate_chain_file(server_context, certificate) != 1) give_up(certificate);
    if (SSL_CTX_use_PrivateKey_file(server_context, key, SSL_FILETYPE_PEM) != 1) give_up(key);
    if (SSL_CTX_set_ciphersuites(client_context, suite) != 1) give_up(suite);
    SSL_CTX_set_mode(server_context, SSL_MODE_RELEASE_BUFFERS);
    SSL *server = SSL_new(server_context), *client = SSL_new(client_context);
    BIO *bio = make_bio(&server_ends);
    SSL_set_bio(server, bio, bio);
    bio = make_bio(&client_ends);
    SSL_set_bio(client, bio, bio);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    while (!SSL_is_init_finished(server) || !SSL_is_init_finished(client)) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    // The rest of the handshake: the client reads its tickets.
    size_t none;
    SSL_read_ex(client, text, 1, &none);
    if (strcmp(SSL_get_cipher(client), suite) != 0) give_up(SSL_get_cipher(client));
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS / BATCH; round++) {
        // So many requests that a measurement is long compared with the clock's resolution.
        for (int i = 0; i < BATCH; i++) send_all(client, text, request);
        uint64_t start = cpu_ns();
        for (int i = 0; i < BATCH; i++) {
            receive_all(server, text, request);
            send_all(server, text, answer);
        }
        uint64_t took = cpu_ns() - start;
        if (took < best) best = took;
        for (int i = 0; i < BATCH; i++) receive_all(client, text, answer);
    }
    SSL_free(server), SSL_free(client);
    SSL_CTX_free(server_context), SSL_CTX_free(client_context);
    return (double)best / BATCH / 1000;
}

int main(int count, char **words) {
    if (count != 5) give_up("CERTIFICATE KEY REQUEST ANSWER");
    size_t request = strtoul(words[3], NULL, 10), answer = strtoul(words[4], NULL, 10);
    if (request < 1 || request > LARGEST || answer < 1 || answer > LARGEST) give_up("a size is out of range");
    const char *suites[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"};
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        printf("%s %.2f\n", suites[i], measure(suites[i], words[1], words[2], request, answer));
    return 0;
}
