/// Flows: work in several steps on a loop, as one `async` function. Between two steps, at each `await`, everything else on the loop may
/// have changed; what a flow read before it has to be read again.
extension EventLoop {
    /// Begins a flow. Its steps up to the first `await` run at once.
    package func start(_ flow: @escaping () async -> Void) {
        flowsInMotion += 1
        Task.immediate {
            flowsInMotion -= 1
            await flow()
        }
    }

    /// Waits for work that calls its completion once, on this loop.
    package func wait<Value: Sendable>(for work: (@escaping (Value) -> Void) -> Void) async -> Value {
        defer { flowsInMotion -= 1 }
        return await withCheckedContinuation { continuation in
            work {
                self.flowsInMotion += 1
                continuation.resume(returning: $0)
            }
        }
    }

    package func wait(for work: (@escaping () -> Void) -> Void) async {
        defer { flowsInMotion -= 1 }
        await withCheckedContinuation { continuation in
            work {
                self.flowsInMotion += 1
                continuation.resume()
            }
        }
    }

    /// The result of a flow, or nil after this time; then the flow goes on, and nobody hears of its end.
    package func within<Value: Sendable>(
        milliseconds: Int64,
        _ flow: @escaping () async -> Value
    ) async -> Value? {
        await wait { (end: @escaping (Value?) -> Void) in
            var isOpen = true
            let endOnce = { (value: Value?) in
                guard isOpen else { return }
                isOpen = false
                end(value)
            }
            let timer = after(milliseconds: milliseconds) { endOnce(nil) }
            start {
                let value = await flow()
                self.cancel(timer)
                endOnce(value)
            }
        }
    }
}
