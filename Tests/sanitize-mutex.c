// Loaded before a program under the thread sanitizer, to show it the locking inside Swift's Mutex. The fast path of a
// Mutex is compiled into the program and visible; under contention the library's own code takes and releases the lock
// invisibly, and everything protected by the lock looks like a race.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

__attribute__((weak)) void __tsan_acquire(void *place);
__attribute__((weak)) void __tsan_release(void *place);

#define CONTEXT __attribute__((swift_context)) void *
#define SWIFT __attribute__((swiftcall))

SWIFT void lock_slow(uint32_t thread, CONTEXT handle) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void unlock_slow(CONTEXT handle) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void lock_slow(uint32_t thread, CONTEXT handle) {
    SWIFT void (*real)(uint32_t, CONTEXT) = (SWIFT void (*)(uint32_t, CONTEXT))dlsym(
        RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    real(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(CONTEXT handle) {
    if (__tsan_release) __tsan_release(handle);
    SWIFT void (*real)(CONTEXT) = (SWIFT void (*)(CONTEXT))dlsym(
        RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    real(handle);
}
