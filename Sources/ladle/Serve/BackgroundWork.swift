import Dispatch

/// Looks at the certificate files now and then; renewals come every few weeks.
enum CertificateClock {
    private static let milliseconds = 30_000

    static func start(_ look: @escaping @Sendable () -> Void) {
        BackgroundWork.after(milliseconds: milliseconds) {
            look()
            start(look)
        }
    }
}

/// Small files written beside the loop, in order.
enum BackgroundWork {
    private static let queue = DispatchQueue(label: "ladle.files")

    static func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    static func after(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }
}
