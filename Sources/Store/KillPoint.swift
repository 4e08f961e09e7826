import POSIX
import Synchronization

/// Named places at which a debug build kills itself without cleaning up: `LADLE_TEST_KILL_POINT=name`, or `name:3` for
/// the third time the place is reached.
///
/// The places are part of the product because the kill tests must stop the real program between two of its own steps.
/// Release builds compile them to nothing.
package enum KillPoint {
    @inline(__always)
    package static func reach(_ name: @autoclosure () -> String) {
        #if DEBUG
        let isDue = armed.withLock { armed in
            guard let wanted = armed?.name, wanted == name() else { return false }
            armed?.remaining -= 1
            return armed?.remaining == 0
        }
        if isDue { CurrentProcess.kill() }
        #endif
    }

    #if DEBUG
    private struct Armed {
        var name: String
        var remaining: Int
    }

    private static let armed = Mutex<Armed?>(fromEnvironment())

    /// Sets the kill point from now on, like the environment variable.
    package static func arm(_ name: String, at time: Int) {
        armed.withLock { $0 = Armed(name: name, remaining: time) }
    }

    private static func fromEnvironment() -> Armed? {
        guard let value = CurrentProcess.environment["LADLE_TEST_KILL_POINT"] else { return nil }
        let parts = value.split(separator: ":", maxSplits: 1)
        guard let name = parts.first else { return nil }
        return Armed(name: String(name), remaining: parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }
    #endif
}
