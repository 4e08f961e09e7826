#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A value behind a pthread mutex: for leaves that several threads touch. Not `Mutex`: thread sanitizer does not see its
/// futex and reports every use.
///
/// `@unchecked Sendable`: `value` is read and written only between lock and unlock.
@safe package final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Nothing may be called out to while the lock is held.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
