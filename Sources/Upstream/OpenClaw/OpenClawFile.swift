/// A file of the OpenClaw configuration as it was read.
package struct OpenClawFile: Sendable, Equatable {
    package let path: String
    package let bytes: [UInt8]
    package let mode: UInt32
    /// Others than its reader may have read or written it.
    package let isExposed: Bool

    package init(path: String, bytes: [UInt8], mode: UInt32, isExposed: Bool) {
        self.path = path
        self.bytes = bytes
        self.mode = mode
        self.isExposed = isExposed
    }

    /// The one that shows a secret to others. A secret that stands nowhere as it is came from the environment, or with
    /// escapes from any of them.
    package static func showing(
        _ secrets: [String],
        among files: [OpenClawFile],
        environment: [String: String]
    ) -> OpenClawFile? {
        let exposed = files.filter(\.isExposed)
        for secret in secrets where !secret.isEmpty {
            if let file = exposed.first(where: { $0.holds(secret) }) { return file }
            let isElsewhere = environment.values.contains(secret) || files.contains { $0.holds(secret) }
            if !isElsewhere, let file = exposed.first { return file }
        }
        return nil
    }

    private func holds(_ secret: String) -> Bool {
        let wanted = Array(secret.utf8)
        guard bytes.count >= wanted.count else { return false }
        return (0...bytes.count - wanted.count).contains { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }
}
