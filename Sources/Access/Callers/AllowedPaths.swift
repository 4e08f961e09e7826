import Basics
import HTTPModel

/// The paths that a token is limited to, each with everything below it.
///
/// Paths are compared part by part, each part decoded: `/v1/runs` admits `/v1/runs/x` and not `/v1/runsx`, and a slash
/// that is encoded is no boundary. An empty part and the parts `.` and `..` are admitted nowhere, however they are
/// written, so that it does not matter which program resolves them.
package struct AllowedPaths: Hashable, Sendable {
    package enum Fault: Error, Equatable, Sendable {
        case none
        case tooMany(limit: Int)
        case tooLong(limit: Int)
        /// Not a path, or one with a query, an empty part, or a `.` or `..`.
        case malformed(String)
    }

    /// A refusal lists all of them, so they are few and short.
    package static let most = 16
    package static let longest = 256

    /// The paths, sorted and without repeats.
    package let list: [String]
    private let parts: [[String]]

    package init(_ paths: [String]) throws(Fault) {
        guard !paths.isEmpty else { throw .none }
        guard paths.count <= Self.most else { throw .tooMany(limit: Self.most) }
        var parts: [String: [String]] = [:]
        for path in paths {
            guard path.utf8.count <= Self.longest else { throw .tooLong(limit: Self.longest) }
            guard path.utf8.allSatisfy({ RequestTarget.allows($0) && $0 != UInt8(ascii: "?") }),
                let found = Self.parts(of: Array(path.utf8)[...])
            else { throw .malformed(path) }
            parts[path] = found
        }
        list = parts.keys.sorted()
        self.parts = list.compactMap { parts[$0] }
    }

    /// - Parameter path: percent-encoded as sent, without its query.
    package func cover(_ path: ArraySlice<UInt8>) -> Bool {
        guard let wanted = Self.parts(of: path) else { return false }
        return covers(wanted)
    }

    /// Whether all the other paths lie within these.
    package func cover(_ others: AllowedPaths) -> Bool { others.parts.allSatisfy(covers) }

    /// The decoded parts of each path, to check whether a route exists there.
    package var names: [[String]] { parts }

    private func covers(_ wanted: [String]) -> Bool {
        parts.contains { wanted.starts(with: $0) { $0.isSameText(as: $1) } }
    }

    private static func parts(of path: ArraySlice<UInt8>) -> [String]? {
        guard path.first == UInt8(ascii: "/") else { return nil }
        var parts: [String] = []
        for part in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = try? PercentCoding.decode(part, offset: 0, plusIsBlank: false), !name.isEmpty, name != ".",
                name != "..", !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else { return nil }
            parts.append(name)
        }
        return parts
    }
}
