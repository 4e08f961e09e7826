/// Collects values from any thread; a test awaits them with a deadline instead of sleeping.
package actor Inbox<Value: Sendable> {
    package struct TimedOut: Error, CustomStringConvertible {
        package let seconds: Int
        package let received: Int
        package var description: String { "nothing more came within \(seconds) s, after \(received) values" }
    }

    private var values: [Value] = []
    private var taken = 0
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var lastWaiter = 0
    private let stream: AsyncStream<Value>.Continuation

    package init() {
        let (stream, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .unbounded)
        self.stream = continuation
        Task { [weak self] in
            for await value in stream { await self?.receive(value) }
        }
    }

    deinit {
        stream.finish()
    }

    /// Keeps the order of calls from one thread.
    package nonisolated func put(_ value: Value) {
        stream.yield(value)
    }

    package func next(within seconds: Int = 10) async throws -> Value {
        if taken == values.count { await wait(seconds) }
        guard taken < values.count else { throw TimedOut(seconds: seconds, received: taken) }
        defer { taken += 1 }
        return values[taken]
    }

    /// Skips values until one fits.
    package func first(within seconds: Int = 10, where fits: @Sendable (Value) -> Bool) async throws -> Value {
        while true {
            let value = try await next(within: seconds)
            if fits(value) { return value }
        }
    }

    package func next(_ count: Int, within seconds: Int = 10) async throws -> [Value] {
        var list: [Value] = []
        while list.count < count { list.append(try await next(within: seconds)) }
        return list
    }

    private func receive(_ value: Value) {
        values.append(value)
        let all = waiting
        waiting = [:]
        for continuation in all.values { continuation.resume() }
    }

    private func wait(_ seconds: Int) async {
        lastWaiter += 1
        let id = lastWaiter
        let deadline = Task {
            try await Task.sleep(for: .seconds(seconds))
            self.giveUp(id)
        }
        await withCheckedContinuation { waiting[id] = $0 }
        deadline.cancel()
    }

    private func giveUp(_ id: Int) {
        waiting.removeValue(forKey: id)?.resume()
    }
}
