package import JSONBytes

/// Reads an OpenClaw configuration with its includes. Closures give it access to files and environment, so that a test
/// can supply any tree of files.
package struct OpenClawConfigReader {
    package enum Problem: Error, Equatable, Sendable {
        case unreadable(path: String, reason: String)
        case includesTooDeep(path: String)
        case missingInclude(path: String)
    }

    /// OpenClaw follows includes to the same depth.
    private static let deepest = 10
    /// Stops a directory of files that include each other many times over.
    private static let mostFiles = 100

    private let readFile: (String) -> [UInt8]?
    private let parseJSON5: ([UInt8]) throws -> JSONDocument
    private var filesRead = 0

    package init(readFile: @escaping (String) -> [UInt8]?, parseJSON5: @escaping ([UInt8]) throws -> JSONDocument) {
        self.readFile = readFile
        self.parseJSON5 = parseJSON5
    }

    /// Nil if the file does not exist.
    mutating func read(_ path: String) throws(Problem) -> OpenClawConfigTree? {
        guard let bytes = readFile(path) else { return nil }
        return try resolve(try parse(bytes, path), path: path, chain: [path])
    }

    private mutating func parse(_ bytes: [UInt8], _ path: String) throws(Problem) -> OpenClawConfigTree {
        filesRead += 1
        guard filesRead <= Self.mostFiles else { throw .includesTooDeep(path: path) }
        do {
            return OpenClawConfigTree(try parseJSON5(bytes).root)
        } catch {
            throw .unreadable(path: path, reason: String(describing: error))
        }
    }

    private mutating func resolve(
        _ tree: OpenClawConfigTree,
        path: String,
        chain: [String]
    ) throws(Problem) -> OpenClawConfigTree {
        switch tree {
        case .object(var members):
            let include = members.removeValue(forKey: "$include")
            for (key, member) in members { members[key] = try resolve(member, path: path, chain: chain) }
            guard let include else { return .object(members) }
            var base = OpenClawConfigTree.object([:])
            for name in Self.names(include) {
                base = base.merged(with: try included(name, from: path, chain: chain))
            }
            // Members beside the include override the included ones.
            return members.isEmpty ? base : base.merged(with: .object(members))
        case .array(let elements):
            var resolved: [OpenClawConfigTree] = []
            for element in elements { resolved.append(try resolve(element, path: path, chain: chain)) }
            return .array(resolved)
        default: return tree
        }
    }

    private mutating func included(
        _ name: String,
        from path: String,
        chain: [String]
    ) throws(Problem) -> OpenClawConfigTree {
        let target = Self.path(name, besides: path)
        guard chain.count < Self.deepest, !chain.contains(target) else { throw .includesTooDeep(path: target) }
        guard let bytes = readFile(target) else { throw .missingInclude(path: target) }
        return try resolve(try parse(bytes, target), path: target, chain: chain + [target])
    }

    private static func names(_ include: OpenClawConfigTree) -> [String] {
        switch include {
        case .string(let name): [name]
        case .array(let elements): elements.compactMap(\.string)
        default: []
        }
    }

    private static func path(_ name: String, besides path: String) -> String {
        if name.hasPrefix("/") { return normal(name) }
        let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return normal(directory + name)
    }

    /// Resolves `.` and `..`, so that a circle of includes is found in any spelling.
    private static func normal(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") {
            switch part {
            case ".": continue
            case ".." where !parts.isEmpty: parts.removeLast()
            default: parts.append(part)
            }
        }
        return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
    }
}
