import CSystem

/// The clocks of this machine.
package enum HostClock {
    /// In Unix time.
    package static var wallMilliseconds: Int64 { cs_wall_ms() }
    /// Never set back. The origin has no meaning.
    package static var monotonicNanoseconds: UInt64 { cs_monotonic_ns() }
    package static var monotonicMilliseconds: Int64 { Int64(clamping: cs_monotonic_ns() / 1_000_000) }

    /// Never set back, and runs on while the machine sleeps, which the monotonic clock does not. The origin has no meaning.
    package static var bootMilliseconds: Int64 { cs_boot_ms() }

    /// The run of this machine since which the monotonic clock counts; nil if the system does not name it.
    package static let boot: String? = {
        var text = [CChar](repeating: 0, count: 64)
        guard unsafe cs_boot_id(&text, text.count) == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }()

    /// Seconds to add to UTC for local time at that moment.
    package static func utcOffset(atSeconds seconds: Int64) -> Int { Int(cs_utc_offset(seconds)) }

    /// Blocks the thread: for command-line programs.
    package static func sleep(milliseconds: Int) { cs_sleep(Int32(clamping: milliseconds)) }
}
