import Basics

/// A real write of about a message's size, to find out whether a message would be accepted now.
enum StoreProbe {
    private static let bytes = 32_768

    /// Nil if the write succeeded.
    static func error(of journal: some Journal) async -> StoreError? {
        do {
            try await journal.commit(cost: bytes) { transaction in
                // Different bytes each time: a database need not write unchanged bytes.
                let fill = UInt8(truncatingIfNeeded: transaction.now.milliseconds)
                let bytes = [UInt8](repeating: fill, count: Self.bytes)
                try transaction.values.set(bytes, space: "store", name: "probe", at: transaction.now)
            }
            return nil
        } catch {
            return DatabaseFile.storeError(error)
        }
    }
}
