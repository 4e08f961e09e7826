import Dispatch

/// Small files written beside the loop, in order.
enum BackgroundWork {
    private static let queue = DispatchQueue(label: "ladle.files")

    static func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }
}
