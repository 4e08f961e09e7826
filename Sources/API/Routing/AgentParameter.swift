import Access
import Server

/// The check of an agent's id, wherever a request names one.
enum AgentParameter {
    private static let name = "agent"
    private static let rule = "`agent` is an agent's id: small letters, digits, _ and -, at most 64."
    private static let longest = 64

    /// Accepts ids as the gateway makes them; a path is never a valid id.
    private static func isID(_ text: String) -> Bool {
        func isWord(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
        let bytes = text.utf8
        return bytes.count <= longest && bytes.first.map(isWord) ?? false
            && bytes.allSatisfy { isWord($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    /// The query parameter `agent`; nil if it is not given.
    static func query(of call: Call) throws(Problem) -> String? {
        guard let text = call.text(name) else { return nil }
        guard isID(text) else { throw .badParameter(name, rule) }
        return text
    }

    /// The field `agent` of a body.
    static func field(_ text: String?) throws(Problem) -> String? {
        guard let text else { return nil }
        guard isID(text) else { throw .invalidField(name, rule) }
        return text
    }
}
