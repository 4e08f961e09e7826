package import JSONBytes

/// A gateway method as Ladle uses it: fixed parameters, an open result.
///
/// Parameters hold only members of the oldest supported schema: an unknown member makes the gateway refuse the call.
package protocol GatewayCall: Sendable {
    associatedtype Output: Sendable
    static var method: String { get }
    /// The time an answer may take; calls that wait at the gateway override it.
    var timeoutMs: Int64 { get }
    func writeParams(to writer: inout JSONWriter)
    static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output
}

extension GatewayCall {
    /// The reference client's value.
    package var timeoutMs: Int64 { 30_000 }

    package var params: [UInt8] {
        var writer = JSONWriter()
        writer.object { self.writeParams(to: &$0) }
        return writer.bytes
    }
}

/// A result lacks a member that every release sends.
package struct GatewayShapeError: Error, Equatable, Sendable {
    package let method: String
    package let missing: String
}
