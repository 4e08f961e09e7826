package import Basics
package import JSONBytes

/// The forms of an answer in Ollama's API: one object, or lines with an object each.
package struct OllamaAnswer: ChunkForm {
    /// As the request spelt it.
    private let model: String
    private let created: Timestamp

    package init(model: String, created: Timestamp) {
        self.model = model
        self.created = created
    }

    package static let mediaType = "application/x-ndjson"
    package static let keepAlive: [UInt8]? = nil

    // MARK: Lines

    package var first: [UInt8] { empty }
    package var empty: [UInt8] { text("") }
    package func text(_ text: String) -> [UInt8] { line { $0.member("content", text) } }

    package func note(_ line: String) -> [UInt8] {
        self.line { message in
            message.member("content", "")
            message.member("thinking", line + "\n")
        }
    }

    package func end(_ usage: AnswerUsage?, isCut: Bool, milliseconds: Int64) -> [UInt8] {
        line(done: isCut ? "length" : "stop", usage, milliseconds) { $0.member("content", "") }
    }

    package func failure(_ error: OpenAIError) -> [UInt8] { Self.body(of: error) + [0x0A] }

    /// The whole body of an error.
    package static func body(of error: OpenAIError) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.member("error", error.message) }
        return writer.bytes
    }

    private func line(
        done reason: String? = nil,
        _ usage: AnswerUsage? = nil,
        _ milliseconds: Int64 = 0,
        _ message: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("model", model)
            object.member("created_at", created)
            object.object("message") { part in
                part.member("role", "assistant")
                message(&part)
            }
            object.member("done", reason != nil)
            guard let reason else { return }
            object.member("done_reason", reason)
            // In nanoseconds.
            object.member("total_duration", milliseconds * 1_000_000)
            if let usage {
                object.member("prompt_eval_count", usage.prompt)
                object.member("eval_count", usage.output)
            }
        }
        return writer.bytes + [0x0A]
    }

    // MARK: The whole answer

    package func whole(
        _ text: String,
        notes: [String] = [],
        _ usage: AnswerUsage? = nil,
        isCut: Bool,
        milliseconds: Int64
    )
        -> [UInt8]
    {
        line(done: isCut ? "length" : "stop", usage, milliseconds) { message in
            message.member("content", text)
            if !notes.isEmpty { message.member("thinking", notes.map { $0 + "\n" }.joined()) }
        }
    }

    // MARK: Models

    /// The members that programs look for; nothing is said of a file, because there is none.
    package static func write(_ name: String, digest: String, created: Timestamp, to list: inout JSONWriter) {
        list.object { object in
            object.member("name", name)
            object.member("model", name)
            object.member("modified_at", created)
            object.member("size", 0)
            object.member("digest", digest)
            object.object("details") { writeDetails(to: &$0) }
        }
    }

    package static func writeModel(to object: inout JSONWriter) {
        object.member("modelfile", "")
        object.member("parameters", "")
        object.member("template", "")
        object.object("details") { writeDetails(to: &$0) }
        object.object("model_info") { $0.member("general.architecture", "ladle") }
        object.array("capabilities", of: ["completion", "vision", "thinking"])
    }

    private static func writeDetails(to details: inout JSONWriter) {
        details.member("parent_model", "")
        details.member("format", "")
        details.member("family", "ladle")
        details.array("families", of: ["ladle"])
        details.member("parameter_size", "")
        details.member("quantization_level", "")
    }
}
