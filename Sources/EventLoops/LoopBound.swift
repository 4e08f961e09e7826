/// Carries an object that belongs to a loop through a `@Sendable` closure, for use on that loop only.
///
/// `@unchecked Sendable`: the value is reached only with the loop's isolation, which `value(on:)` checks, and it is
/// released on the loop too.
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
