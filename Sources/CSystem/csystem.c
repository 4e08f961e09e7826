#define _GNU_SOURCE
#include "csystem.h"
