#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Numbers of users and groups by name. The C library's answers are shared storage: ask from one thread at a time.
package enum UserDatabase {
    package static func user(named name: String) -> UInt32? {
        unsafe getpwnam(name).map { unsafe $0.pointee.pw_uid }
    }

    package static func group(named name: String) -> UInt32? {
        unsafe getgrnam(name).map { unsafe $0.pointee.gr_gid }
    }
}
