import JSONBytes

/// The forms of a chat completion: one object, or chunks of a stream. No line of a stream has an id, because the decoder of OpenAI's Python
/// library would keep it and read every blank line after it as an event.
package struct ChatAnswer: ChunkForm {
    package let id: String
    /// In seconds.
    package let created: Int64
    /// As the request spelt it.
    package let model: String
    /// The stream ends with a chunk that counts tokens.
    package var includesUsage = false

    package init(id: String, created: Int64, model: String) {
        self.id = id
        self.created = created
        self.model = model
    }

    package static let mediaType = "text/event-stream; charset=utf-8"
    package static let keepAlive: [UInt8]? = Array(": keep-alive\n\n".utf8)
    package static let done = Array("data: [DONE]\n\n".utf8)

    package static func frame(_ json: [UInt8]) -> [UInt8] { Array("data: ".utf8) + json + Array("\n\n".utf8) }

    // MARK: Chunks

    package var first: [UInt8] {
        chunk { delta in
            delta.member("role", "assistant")
            delta.member("content", "")
        }
    }

    package var empty: [UInt8] { chunk { $0.member("content", "") } }

    package func text(_ text: String) -> [UInt8] { chunk { $0.member("content", text) } }

    package func note(_ line: String) -> [UInt8] { chunk { $0.member("reasoning_content", line + "\n") } }

    package func last(_ reason: String = "stop") -> [UInt8] { chunk(reason) { _ in } }

    package func end(_ usage: AnswerUsage?, isCut: Bool, milliseconds: Int64) -> [UInt8] {
        last(isCut ? "length" : "stop") + (includesUsage ? usage.map { self.usage($0) } ?? [] : []) + Self.done
    }

    package func failure(_ error: OpenAIError) -> [UInt8] { Self.frame(error.body) }

    package func usage(_ usage: AnswerUsage) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            writeHead("chat.completion.chunk", to: &object)
            object.array("choices") { _ in }
            object.object("usage") { Self.write(usage, to: &$0) }
        }
        return Self.frame(writer.bytes)
    }

    private func chunk(_ reason: String? = nil, _ delta: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            writeHead("chat.completion.chunk", to: &object)
            object.array("choices") { list in
                list.object { choice in
                    choice.member("index", 0)
                    choice.object("delta", delta)
                    choice.member("finish_reason", orNull: reason)
                }
            }
        }
        return Self.frame(writer.bytes)
    }

    private func writeHead(_ kind: String, to object: inout JSONWriter) {
        object.member("id", id)
        object.member("object", kind)
        object.member("created", created)
        object.member("model", model)
    }

    // MARK: The whole answer

    package func whole(
        _ text: String,
        notes: [String] = [],
        reason: String = "stop",
        usage: AnswerUsage? = nil
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: text.utf8.count + 512)
        writer.object { object in
            writeHead("chat.completion", to: &object)
            object.array("choices") { list in
                list.object { choice in
                    choice.member("index", 0)
                    choice.object("message") { message in
                        message.member("role", "assistant")
                        message.member("content", text)
                        if !notes.isEmpty { message.member("reasoning_content", notes.map { $0 + "\n" }.joined()) }
                        message.member("refusal", orNull: nil)
                    }
                    choice.member("finish_reason", reason)
                    choice.member("logprobs", orNull: nil)
                }
            }
            if let usage { object.object("usage") { Self.write(usage, to: &$0) } }
        }
        return writer.bytes
    }

    private static func write(_ usage: AnswerUsage, to object: inout JSONWriter) {
        object.member("prompt_tokens", usage.prompt)
        object.member("completion_tokens", usage.output)
        object.member("total_tokens", usage.total)
        object.object("prompt_tokens_details") { details in
            details.member("cached_tokens", usage.cacheRead)
            details.member("cache_write_tokens", usage.cacheWrite)
        }
    }
}
