import JSONBytes

/// An answer as the command line gets it. Lines of plain text are made from that form alone, so `curl` and `ladle` show the same words.
enum AnswerForm {
    static func of(_ value: some JSONWritable) -> JSONValue? {
        var writer = JSONWriter()
        value.write(to: &writer)
        return of(writer.bytes)
    }

    static func of(_ json: [UInt8]) -> JSONValue? { try? JSONDocument(parsing: json, limits: .gateway).root }
}
