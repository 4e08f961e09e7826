import Foundation
import JSONBytes

/// The vector file beside the checkout, where there is one; the suites have cases of their own as well.
enum SharedVectors {
    static let identity: [JSONValue] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "../shared/data/identity-vectors.json").standardizedFileURL
        guard let data = try? Data(contentsOf: file), let document = try? JSONDocument(parsing: [UInt8](data)) else {
            return []
        }
        return (document.root["vectors"]?.elements).map(Array.init) ?? []
    }()

    static func names(_ kinds: String..., source: String? = nil) -> [String] {
        identity.filter { vector in
            kinds.contains(vector["kind"]?.string ?? "") && (source == nil || vector["source"]?.string == source)
        }.compactMap { $0["name"]?.string }
    }

    static func named(_ name: String) -> JSONValue? { identity.first { $0["name"]?.string == name } }

    static func strings(_ value: JSONValue?) -> [String: String] {
        guard let value else { return [:] }
        return value.members.reduce(into: [:]) { $0[$1.key] = $1.value.string }
    }
}
