package import JSONBytes

/// A gateway method as Ladle uses it: its closed parameters, its open result.
///
/// Parameters hold only what the oldest supported schema knows: an unknown member makes the gateway refuse the call.
package protocol GatewayCall: Sendable {
    associatedtype Output: Sendable
    static var method: String { get }
    /// How long an answer may take; calls that wait on the gateway's side override it.
    var timeoutMs: Int64 { get }
    func writeParams(to writer: inout JSONWriter)
    static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output
}

extension GatewayCall {
    /// The reference client's figure.
    package var timeoutMs: Int64 { 30_000 }

    package var params: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.writeParams(to: &$0) }
        return writer.bytes
    }
}

/// A result without a member that every release has.
package struct GatewayShapeError: Error, Equatable, Sendable {
    package let method: String
    package let missing: String
}
