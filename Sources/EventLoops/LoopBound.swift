/// Carries a loop's own object through a `@Sendable` closure, to be used on that loop only.
///
/// `@unchecked Sendable`: the value is reached only with the loop's isolation in hand, which `value(on:)` checks, and is
/// released there too.
package final class LoopBound<Value>: @unchecked Sendable {
    private let loop: EventLoop
    private var stored: Value?

    package init(_ value: Value, on loop: isolated EventLoop) {
        stored = value
        self.loop = loop
    }

    package func value(on current: isolated EventLoop) -> Value? {
        precondition(current === loop, "a loop's object was used on another loop")
        return stored
    }

    deinit {
        nonisolated(unsafe) let last = stored
        stored = nil
        loop.post { _ in unsafe withExtendedLifetime(last) {} }
    }
}
