import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Signals as Dispatch sources; their work is brought to the loop by `post`.
final class Signals: Sendable {
    private let queue = DispatchQueue(label: "ladle.signals")

    /// Until it is watched the signal does nothing, rather than end the process.
    static func passOver(_ number: Int32) { signal(number, SIG_IGN) }

    /// The first SIGTERM or SIGINT asks to stop, the second one ends the process where it stands.
    func whenAskedToStop(_ work: @escaping @Sendable () -> Void) {
        let asked = SharedFlag()
        for number in [SIGTERM, SIGINT] {
            watch(number) {
                if asked.raise() { _exit(128 + number) }
                work()
            }
        }
    }

    /// For the life of the process: the source keeps itself. Returns once the signal is caught; until then it does what
    /// it does by default.
    func watch(_ number: Int32, _ work: @escaping @Sendable () -> Void) {
        let isCaught = DispatchSemaphore(value: 0)
        queue.async { [queue] in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { withExtendedLifetime(source, work) }
            source.setRegistrationHandler {
                #if canImport(Darwin)
                signal(number, SIG_IGN)
                #endif
                isCaught.signal()
            }
            source.activate()
        }
        isCaught.wait()
    }
}

/// True from the second raise on.
private final class SharedFlag: Sendable {
    private let flag = Mutex(false)

    func raise() -> Bool {
        flag.withLock { value in
            defer { value = true }
            return value
        }
    }
}
