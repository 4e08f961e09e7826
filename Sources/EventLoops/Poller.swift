import CSystem
import POSIX

/// The operations for which a descriptor is ready.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package init(readable: Bool, writable: Bool) {
        rawValue = (readable ? UInt32(CS_READABLE) : 0) | (writable ? UInt32(CS_WRITABLE) : 0)
    }

    /// Like `contains`, without its generic overhead.
    package func has(_ one: Readiness) -> Bool { rawValue & one.rawValue != 0 }

    package static let readable = Readiness(rawValue: UInt32(CS_READABLE))
    static let writable = Readiness(rawValue: UInt32(CS_WRITABLE))
    /// Both directions have ended; reading gives the reason.
    static let hangup = Readiness(rawValue: UInt32(CS_HANGUP))
}

/// The kernel's event queue, with one timer and one wake-up bell (`CSystem/poller.c`).
///
/// `Sendable`: the descriptors never change from init to deinit, and the kernel serialises calls on them.
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

    /// Sets the one-shot timer; nil disarms it.
    func arm(nanoseconds: UInt64?) {
        var handle = handle
        _ = unsafe cs_poller_arm(&handle, nanoseconds.map { min(max($0, 1), UInt64(Int64.max)) } ?? 0)
    }

    /// The number of `events` filled. An interruption by a signal counts as no event. All other errors mean invalid
    /// descriptors or memory, which this file never passes.
    func wait(into events: inout [cs_event], block: Bool) -> Int {
        var handle = handle
        let capacity = Int32(events.count)
        let count = unsafe events.withUnsafeMutableBufferPointer { buffer in
            unsafe cs_poller_wait(&handle, buffer.baseAddress, capacity, block)
        }
        return max(Int(count), 0)
    }
}
