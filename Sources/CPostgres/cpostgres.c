#include "cpostgres.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#ifdef __APPLE__
static const char *const names[] = {"libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib"};
#else
static const char *const names[] = {"libpq.so.5"};
#endif

#define MEMBER(result, name, parameters, words) result(*name) parameters;
static struct {
    CPOSTGRES_FUNCTIONS(MEMBER)
} library;

static char failure[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = NULL;
    for (size_t index = 0; handle == NULL && index < sizeof names / sizeof *names; index++) handle = dlopen(names[index], RTLD_NOW);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(failure, sizeof failure, "%s", reason == NULL ? "libpq cannot be loaded" : reason);
        return;
    }
#define FIND(result, name, parameters, words)                                                              \
    *(void **)&library.name = dlsym(handle, #name);                                                        \
    if (library.name == NULL) snprintf(failure, sizeof failure, "the libpq of this system has no " #name);
    CPOSTGRES_FUNCTIONS(FIND)
}

int cpostgres_load(char *reason, size_t size) {
    pthread_once(&once, load);
    snprintf(reason, size, "%s", failure);
    return failure[0] == 0 ? 0 : -1;
}

#define CALL(result, name, parameters, words) \
    result cpostgres_##name parameters { return library.name words; }
CPOSTGRES_FUNCTIONS(CALL)

static void notice(void *context, const PGresult *result) {
    const char *state = library.PQresultErrorField(result, 'C');
    if (state != NULL && state[0] == '0' && state[1] == '1') ++*(int *)context;
}

void cpostgres_watch(PGconn *connection, int *warnings) { library.PQsetNoticeReceiver(connection, notice, warnings); }
