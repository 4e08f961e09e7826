/// The form of an answer that is told piece by piece.
package protocol ChunkForm: Sendable {
    /// The media type of the stream.
    static var mediaType: String { get }
    /// A line that keeps the connection and is no chunk; nil where each line is one.
    static var keepAlive: [UInt8]? { get }

    /// The first chunk, which comes before any text.
    var first: [UInt8] { get }
    /// A chunk that says nothing: some libraries count chunks, not bytes.
    var empty: [UInt8] { get }

    func text(_ text: String) -> [UInt8]
    /// A line about the agent's work, where programs show thoughts.
    func note(_ line: String) -> [UInt8]
    /// - Parameters:
    ///   - isCut: the text is not the whole answer.
    ///   - milliseconds: from the request to its end.
    func end(_ usage: AnswerUsage?, isCut: Bool, milliseconds: Int64) -> [UInt8]
    func failure(_ error: OpenAIError) -> [UInt8]
}
