#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Looks up user and group numbers by name. The C library returns shared storage: call from one thread at a time.
package enum UserDatabase {
    package static func user(named name: String) -> UInt32? {
        unsafe getpwnam(name).map { unsafe $0.pointee.pw_uid }
    }

    package static func group(named name: String) -> UInt32? {
        unsafe getgrnam(name).map { unsafe $0.pointee.gr_gid }
    }
}
