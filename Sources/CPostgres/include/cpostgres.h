// libpq, loaded when it is asked for: a program that keeps its state in a file neither has nor needs it. One line for each function that
// is used: its result, its name, its parameters, and the words by which it is called.
#pragma once
#include <stddef.h>

typedef struct cpostgres_connection PGconn;
typedef struct cpostgres_result PGresult;
typedef void (*CPostgresNotice)(void *context, const PGresult *notice);

#define CPOSTGRES_FUNCTIONS(X)                                                                                                       \
    X(int, PQlibVersion, (void), ())                                                                                                 \
    X(PGconn *, PQconnectStartParams, (const char *const *words, const char *const *values, int expand), (words, values, expand))    \
    X(int, PQconnectPoll, (PGconn *c), (c))                                                                                          \
    X(int, PQstatus, (const PGconn *c), (c))                                                                                         \
    X(int, PQsocket, (const PGconn *c), (c))                                                                                         \
    X(int, PQserverVersion, (const PGconn *c), (c))                                                                                  \
    X(int, PQsslInUse, (PGconn *c), (c))                                                                                             \
    X(char *, PQhost, (const PGconn *c), (c))                                                                                        \
    X(char *, PQport, (const PGconn *c), (c))                                                                                        \
    X(char *, PQdb, (const PGconn *c), (c))                                                                                          \
    X(char *, PQerrorMessage, (const PGconn *c), (c))                                                                                \
    X(void, PQfinish, (PGconn *c), (c))                                                                                              \
    X(CPostgresNotice, PQsetNoticeReceiver, (PGconn *c, CPostgresNotice call, void *context), (c, call, context))                    \
    X(int, PQsetnonblocking, (PGconn *c, int on), (c, on))                                                                           \
    X(int, PQflush, (PGconn *c), (c))                                                                                                \
    X(int, PQconsumeInput, (PGconn *c), (c))                                                                                         \
    X(int, PQisBusy, (PGconn *c), (c))                                                                                               \
    X(int, PQenterPipelineMode, (PGconn *c), (c))                                                                                    \
    X(int, PQpipelineSync, (PGconn *c), (c))                                                                                         \
    X(int, PQsendPrepare, (PGconn *c, const char *name, const char *sql, int count, const unsigned *types),                          \
      (c, name, sql, count, types))                                                                                                  \
    X(int, PQsendQueryPrepared,                                                                                                      \
      (PGconn *c, const char *name, int count, const char *const *values, const int *lengths, const int *formats, int format),       \
      (c, name, count, values, lengths, formats, format))                                                                            \
    X(int, PQsendQueryParams,                                                                                                        \
      (PGconn *c, const char *sql, int count, const unsigned *types, const char *const *values, const int *lengths,                  \
       const int *formats, int format),                                                                                              \
      (c, sql, count, types, values, lengths, formats, format))                                                                      \
    X(PGresult *, PQgetResult, (PGconn *c), (c))                                                                                     \
    X(void, PQclear, (PGresult *r), (r))                                                                                             \
    X(int, PQresultStatus, (const PGresult *r), (r))                                                                                 \
    X(char *, PQresultErrorMessage, (const PGresult *r), (r))                                                                        \
    X(char *, PQresultErrorField, (const PGresult *r, int field), (r, field))                                                        \
    X(char *, PQcmdStatus, (PGresult *r), (r))                                                                                       \
    X(char *, PQcmdTuples, (PGresult *r), (r))                                                                                       \
    X(int, PQntuples, (const PGresult *r), (r))                                                                                      \
    X(int, PQnfields, (const PGresult *r), (r))                                                                                      \
    X(unsigned, PQftype, (const PGresult *r, int column), (r, column))                                                               \
    X(int, PQgetisnull, (const PGresult *r, int row, int column), (r, row, column))                                                  \
    X(int, PQgetlength, (const PGresult *r, int row, int column), (r, row, column))                                                  \
    X(char *, PQgetvalue, (const PGresult *r, int row, int column), (r, row, column))

// Zero once libpq is loaded; else the reason is written.
int cpostgres_load(char *reason, size_t size);

// Each may be called once libpq is loaded.
#define CPOSTGRES_DECLARE(result, name, parameters, words) result cpostgres_##name parameters;
CPOSTGRES_FUNCTIONS(CPOSTGRES_DECLARE)

// Counts the warnings of the server, which are not printed.
void cpostgres_watch(PGconn *connection, int *warnings);

// libpq's numbers: of the next step of a connection attempt, of a connection's state, and of a statement's result.
enum { CPOSTGRES_FAILED = 0, CPOSTGRES_READING = 1, CPOSTGRES_WRITING = 2, CPOSTGRES_CONNECTED = 3 };
enum { CPOSTGRES_OK = 0, CPOSTGRES_BAD = 1 };
enum {
    CPOSTGRES_EMPTY = 0,
    CPOSTGRES_COMMAND = 1,
    CPOSTGRES_ROWS = 2,
    CPOSTGRES_SYNC = 10,
    CPOSTGRES_ABORTED = 11,
};
