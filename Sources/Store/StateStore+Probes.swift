import Basics

/// Questions of those who watch over the store.
extension StateStore {
    private static let probeBytes = 32_768

    /// A write that is really made, of about the size of a message's: whether a send would be accepted now.
    package nonisolated func probe() async -> StoreError? {
        if let refusal = health.refusal { return .outboxClosed(refusal) }
        do {
            try await commit(cost: Self.probeBytes) { transaction in
                // Other bytes each time: what is the same already is not written.
                let fill = UInt8(truncatingIfNeeded: transaction.now.milliseconds)
                let bytes = [UInt8](repeating: fill, count: Self.probeBytes)
                try transaction.values.set(bytes, space: "store", name: "probe", at: transaction.now)
            }
            return nil
        } catch {
            return DatabaseFile.storeError(error)
        }
    }

    /// Returns once both queues have worked off what waited before: what a watchdog asks. Nothing is written.
    package func answer() async {
        try? await read { _ in }
    }
}
