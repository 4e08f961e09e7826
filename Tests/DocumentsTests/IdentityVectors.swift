import JSONBytes
import TestSupport

/// The cases of `identity-vectors.json`. `source: app` is the phone app's reading, `extended` this program's.
enum IdentityVectors {
    private static let all: [JSONValue] = (try? TestData.vectors("identity-vectors.json")) ?? []

    static func names(_ kinds: String..., source: String? = nil) -> [String] {
        all.filter { vector in
            kinds.contains(vector["kind"]?.string ?? "") && (source == nil || vector["source"]?.string == source)
        }.compactMap { $0["name"]?.string }
    }

    static func named(_ name: String) -> JSONValue? { all.first { $0["name"]?.string == name } }

    static func strings(_ value: JSONValue?) -> [String: String] {
        guard let value else { return [:] }
        return value.members.reduce(into: [:]) { $0[$1.key] = $1.value.string }
    }
}
