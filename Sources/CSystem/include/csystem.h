// What Swift's Glibc and Darwin overlays hide. No _GNU_SOURCE in this header: with it fd_set clashes with Dispatch's
// module; the .c file has it.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "csystem_access.h"
#include "csystem_discovery.h"
