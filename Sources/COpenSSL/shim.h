// What Swift's importer cannot see in OpenSSL 3: macros with arguments or casts, variadics, stack inlines.
#pragma once
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/x509_vfy.h>

/// EVP_EC_gen is a macro over a variadic function.
static inline EVP_PKEY *openssl_p256_generate(void) {
    return EVP_EC_gen("P-256");
}

/// BIO_get_mem_data is a macro with a cast.
static inline long openssl_bio_memory(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}
