/// A file of the OpenClaw configuration, with its content at the time of reading.
package struct OpenClawFile: Sendable, Equatable {
    package let path: String
    package let bytes: [UInt8]
    package let mode: UInt32
    /// Other users may have read or written the file.
    package let isExposed: Bool

    package init(path: String, bytes: [UInt8], mode: UInt32, isExposed: Bool) {
        self.path = path
        self.bytes = bytes
        self.mode = mode
        self.isExposed = isExposed
    }

    /// The file that exposes one of the secrets to other users. If neither a file nor the environment holds the secret
    /// verbatim, any file may hold it with escapes, so the first exposed file is returned.
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
