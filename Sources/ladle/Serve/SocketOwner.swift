#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// To whom a Unix socket is given: `USER`, `USER:GROUP` or `:GROUP`, by name or number.
struct SocketOwner: Sendable, Equatable {
    struct Fault: Error, Equatable {
        let message: String
    }

    let user: UInt32?
    let group: UInt32?

    init(_ text: String) throws(Fault) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (userName, groupName) = (parts[0], parts.count > 1 ? parts[1] : "")
        guard !userName.isEmpty || !groupName.isEmpty else {
            throw Fault(message: "write USER, USER:GROUP or :GROUP, not \(text)")
        }
        user = userName.isEmpty ? nil : UInt32(userName) ?? Self.user(named: userName)
        group = groupName.isEmpty ? nil : UInt32(groupName) ?? Self.group(named: groupName)
        if user == nil, !userName.isEmpty { throw Fault(message: "there is no user \(userName)") }
        if group == nil, !groupName.isEmpty { throw Fault(message: "there is no group \(groupName)") }
    }

    // Before the listeners open there is one thread that asks for these.
    private static func user(named name: String) -> UInt32? {
        unsafe getpwnam(name).map { unsafe $0.pointee.pw_uid }
    }

    private static func group(named name: String) -> UInt32? {
        unsafe getgrnam(name).map { unsafe $0.pointee.gr_gid }
    }
}
