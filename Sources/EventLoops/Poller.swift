import CSystem
import POSIX

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package init(readable: Bool, writable: Bool) {
        rawValue = (readable ? UInt32(CS_READABLE) : 0) | (writable ? UInt32(CS_WRITABLE) : 0)
    }

    /// `contains` without the generic detour.
    package func has(_ one: Readiness) -> Bool { rawValue & one.rawValue != 0 }

    package static let readable = Readiness(rawValue: UInt32(CS_READABLE))
    static let writable = Readiness(rawValue: UInt32(CS_WRITABLE))
    /// Both directions are over; reading tells why.
    static let hangup = Readiness(rawValue: UInt32(CS_HANGUP))
}

/// The kernel's event queue with its timer and its bell (`CSystem/poller.c`).
///
/// `Sendable`: the descriptors are fixed from init to deinit, and the kernel serialises calls on them.
@safe final class Poller: Sendable {
    private let handle: cs_poller

    init() throws(SystemError) {
        var handle = cs_poller()
        try SystemError.check(unsafe cs_poller_open(&handle), "open the event queue")
        self.handle = handle
    }

    deinit {
        var handle = handle
        unsafe cs_poller_close(&handle)
    }

    func add(_ descriptor: Int32, token: UInt64, interest: Readiness) throws(SystemError) {
        var handle = handle
        try SystemError.check(unsafe cs_poller_add(&handle, descriptor, token, interest.rawValue), "watch a socket")
    }

    func change(_ descriptor: Int32, token: UInt64, interest: Readiness) {
        var handle = handle
        _ = unsafe cs_poller_change(&handle, descriptor, token, interest.rawValue)
    }

    func remove(_ descriptor: Int32) {
        var handle = handle
        _ = unsafe cs_poller_remove(&handle, descriptor)
    }

    func ring() {
        var handle = handle
        unsafe cs_poller_ring(&handle)
    }

    /// One shot; nil disarms.
    func arm(nanoseconds: UInt64?) {
        var handle = handle
        _ = unsafe cs_poller_arm(&handle, nanoseconds.map { min(max($0, 1), UInt64(Int64.max)) } ?? 0)
    }

    /// How many of `events` are filled. A signal counts as nothing ready; other errors are of calls that this file does not
    /// make, with descriptors or memory that are not there.
    func wait(into events: inout [cs_event], block: Bool) -> Int {
        var handle = handle
        let capacity = Int32(events.count)
        let count = unsafe events.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_poller_wait(&handle, buffer.baseAddress, capacity, block)
        }
        return max(Int(count), 0)
    }
}
