// What a command line program needs of the system beside the daemon's event loop. All of these may block.
// Results: 0 or more is success, below 0 is minus errno.
#pragma once
#include <stddef.h>
#include <stdint.h>

// A blocking, close-on-exec stream socket to a unix path.
int cs_blocking_connect(const char *path);
// 1 when ready, 0 when the time is over; a negative time waits without end.
int cs_wait(int fd, int for_writing, int milliseconds);

int cs_is_terminal(int fd);
// 0 where the terminal does not tell.
int cs_columns(int fd);
// Entry `index` of the environment as NAME=VALUE, or NULL behind the last: `environ` is not visible to Swift 6.
const char *cs_environment(size_t index);
// What is added to UTC at that time here.
int cs_utc_offset(int64_t seconds);
void cs_sleep(int milliseconds);

// Makes a file of mode 0600 from a template whose XXXXXX stands before a suffix of that length, and opens it.
int cs_temporary(char *path, int suffix_length);
// Runs `sh -c 'COMMAND "$1"'` on the path with the terminal's descriptors; the result is its exit status.
int cs_edit(const char *command, const char *path);
