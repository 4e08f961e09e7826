// What a command line program needs of the system beside the daemon's event loop. All of these may block.
// Results: 0 or more is success, below 0 is minus errno.
#pragma once
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

// A blocking, close-on-exec stream socket to a unix path.
int cs_client_connect(const char *path);
// 1 when ready, 0 when the time is over; a negative time waits without end.
int cs_client_wait(int fd, int for_writing, int milliseconds);
// Bytes read; EINTR resolved.
int64_t cs_client_read(int fd, void *bytes, size_t count);
// Writes all of it to a file, pipe or terminal.
int cs_client_write(int fd, const void *bytes, size_t count);

int cs_client_is_terminal(int fd);
// 0 where the terminal does not tell.
int cs_client_columns(int fd);
// Entry `index` of the environment as NAME=VALUE, or NULL behind the last: `environ` is not visible to Swift 6.
const char *cs_client_environment(size_t index);
// What is added to UTC at that time here.
int cs_client_utc_offset(int64_t seconds);
void cs_client_sleep(int milliseconds);

// Makes a file of mode 0600 from a template whose XXXXXX stands before a suffix of that length, and opens it.
int cs_client_temporary(char *path, int suffix_length);
int cs_client_remove(const char *path);
// Runs `sh -c 'COMMAND "$1"'` on the path with the terminal's descriptors; the result is its exit status.
int cs_client_edit(const char *command, const char *path);

// The refusals of a connect that mean something to people; the numbers differ between systems.
enum { CLIENT_ENOENT = ENOENT, CLIENT_ECONNREFUSED = ECONNREFUSED, CLIENT_EACCES = EACCES, CLIENT_EPERM = EPERM };
const char *cs_client_error_text(int error);
