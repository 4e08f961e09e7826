import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Signals as Dispatch sources; `post` brings their work to the loop.
package final class Signals: Sendable {
    package enum Number: Int32, Sendable {
        case hangUp = 1
        case interrupt = 2
        case terminate = 15

        /// The exit status that a shell reports for a child ended by this signal.
        package var exitStatus: Int32 { 128 + rawValue }
    }

    private let queue = DispatchQueue(label: "ladle.signals")

    package init() {}

    /// Ignores the signal until it is watched; otherwise it would end the process.
    package static func ignore(_ number: Number) { signal(number.rawValue, SIG_IGN) }

    /// The first SIGTERM or SIGINT asks to stop, the second one ends the process at once.
    package func whenAskedToStop(_ work: @escaping @Sendable () -> Void) {
        let asked = SharedFlag()
        for number in [Number.terminate, .interrupt] {
            watch(number) {
                if asked.raise() { _exit(number.exitStatus) }
                work()
            }
        }
    }

    /// Watches for the rest of the process's life: the source keeps itself alive. Returns once the signal is caught;
    /// until then the signal has its default effect.
    package func watch(_ number: Number, _ work: @escaping @Sendable () -> Void) {
        let isCaught = DispatchSemaphore(value: 0)
        queue.async { [queue] in
            let source = DispatchSource.makeSignalSource(signal: number.rawValue, queue: queue)
            source.setEventHandler { withExtendedLifetime(source, work) }
            source.setRegistrationHandler {
                #if canImport(Darwin)
                signal(number.rawValue, SIG_IGN)
                #endif
                isCaught.signal()
            }
            source.activate()
        }
        isCaught.wait()
    }
}

/// True from the second signal on.
private final class SharedFlag: Sendable {
    private let flag = Mutex(false)

    func raise() -> Bool {
        flag.withLock { value in
            defer { value = true }
            return value
        }
    }
}
