import Dispatch
import Observability
import POSIX
import Store

/// Calls back every half minute, to look at the certificate files.
enum CertificateClock {
    private static let milliseconds = 30_000

    static func start(_ look: @escaping @Sendable () -> Void) {
        BackgroundWork.after(milliseconds: milliseconds) {
            look()
            start(look)
        }
    }
}

/// Gives free memory back to the system every half minute.
enum MemoryClock {
    private static let milliseconds = 30_000

    static func start() {
        BackgroundWork.after(milliseconds: milliseconds) {
            ProcessLimits.releaseFreeMemory()
            start()
        }
    }
}

/// Looks every five seconds whether the database is still there, so that the status says it before a message is refused, and logs when
/// it no longer is.
enum StoreClock {
    private static let milliseconds = 5_000

    static func start(_ store: any ServedStore, log: Log, last: StoreHealth) {
        BackgroundWork.after(milliseconds: milliseconds) {
            store.look { health in
                if health != last { note(health, log) }
                start(store, log: log, last: health)
            }
        }
    }

    private static func note(_ health: StoreHealth, _ log: Log) {
        switch health {
        case .misplaced(let reason): log.error("store.misplaced", ["error": .string(reason)])
        case .unreachable(let reason): log.error("store.away", ["error": .string(reason)])
        case .ok, .readOnly, .quarantined: break
        }
    }
}

/// A queue for small file operations, which must not run on a loop.
enum BackgroundWork {
    private static let queue = DispatchQueue(label: "ladle.files")

    static func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    static func after(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }
}
