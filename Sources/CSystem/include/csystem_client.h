// System calls for command-line programs, apart from the daemon's event loop. All of these may block.
// Results: 0 or more is success, below 0 is minus errno.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Opens a blocking, close-on-exec stream socket connected to a unix path.
int cs_blocking_connect(const char *path);
// The same for a port of a host by name or address; each address is tried for the given time. ENOENT: the name is
// unknown.
int cs_blocking_connect_host(const char *host, uint16_t port, int milliseconds);
// Returns 1 when the descriptor is ready, 0 at the end of the time; a negative time waits without end.
// for_writing: 2 for either.
int cs_wait(int fd, int for_writing, int milliseconds);

// Waits for either of two descriptors: bit 1 for the first, bit 2 for the second, 0 at the end of the time, and earlier
// while a change of the screen has not been shown. A negative descriptor is never ready.
int cs_wait_two(int first, int second, int milliseconds);

// Lets the terminal on standard input deliver single keys without showing them, and drops earlier input. Fails if this
// process is not in the terminal's foreground. A signal that ends the process restores the terminal.
int cs_keys_begin(void);
void cs_keys_end(void);
// Whether this process is the foreground of the terminal on standard input: only then may it read.
int cs_is_foreground(void);

// Takes keys as above for a program that draws on the whole screen. Ctrl-Z and each end by a signal restore the terminal.
int cs_screen_begin(void);
// Before a program draws: 0 if it may not, because another program has the terminal; 1 if the screen is as it left it, 2
// if everything must be drawn again.
int cs_screen_show(void);
void cs_screen_end(void);

int cs_is_terminal(int fd);
// The width of the terminal; 0 where the terminal does not report it.
int cs_columns(int fd);
int cs_rows(int fd);
// Entry `index` of the environment as NAME=VALUE, or NULL after the last one. Swift 6 cannot see `environ`.
const char *cs_environment(size_t index);
// The offset of local time from UTC at `seconds`.
int cs_utc_offset(int64_t seconds);
void cs_sleep(int milliseconds);

// Makes and opens a file of mode 0600 from a template in which XXXXXX stands before a suffix of the given length.
int cs_temporary(char *path, int suffix_length);
// Replaces this program by another one, found on the path; returns only on failure.
int cs_execute(char *const arguments[]);
// Runs `sh -c 'COMMAND "$1"'` on the path with the terminal's descriptors and returns the exit status.
int cs_edit(const char *command, const char *path);
