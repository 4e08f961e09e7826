/* The program that has OpenSSL and the C++ library inside, on systems other than the one that it was linked on. */
#include <openssl/x509.h>
#include <stdlib.h>
#include <unistd.h>

const char *__real_X509_get_default_cert_file(void);

/* The file of authorities that OpenSSL reads if SSL_CERT_FILE is not set. Its own place, and the folder beside that, are
   Debian's; where they are missing the other systems' places are tried. */
__attribute__((visibility("hidden"))) const char *__wrap_X509_get_default_cert_file(void)
{
    static const char *const others[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian without the package openssl, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem",
    };
    const char *own = __real_X509_get_default_cert_file();
    if (access(own, R_OK) == 0 || access(X509_get_default_cert_dir(), R_OK) == 0)
        return own;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (access(others[i], R_OK) == 0)
            return others[i];
    return own;
}

/* std::random_device names it, which nothing here uses. Only glibc from 2.36 on has it. */
__attribute__((visibility("hidden"))) unsigned arc4random(void)
{
    unsigned value;
    if (getentropy(&value, sizeof value) != 0)
        abort();
    return value;
}
