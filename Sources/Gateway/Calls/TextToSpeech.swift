import Basics
package import JSONBytes

/// Reads a text aloud with the provider and voice that the gateway's owner has chosen, and gives the whole recording.
package struct TextToSpeech: GatewayCall {
    package static let method = "tts.speak"
    /// A provider takes long for a long text.
    package var timeoutMs: Int64 { 120_000 }
    package var text: String

    package init(text: String) { self.text = text }

    package func writeParams(to writer: inout JSONWriter) { writer.member("text", text) }

    /// The recording's bytes. Its type is in the bytes: the gateway's word for it is not passed on.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [UInt8] {
        let bytes = payload["audioBase64"]?.string.flatMap { Base64.decode($0, as: .standard) }
        guard let bytes, !bytes.isEmpty else { throw GatewayShapeError(method: method, missing: "audioBase64") }
        return bytes
    }
}
