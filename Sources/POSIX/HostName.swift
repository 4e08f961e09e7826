#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The name of this machine.
package enum HostName {
    /// Empty if the system does not report it.
    package static var current: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
