import Basics
import EventStream
import JSONBytes
package import Service

extension StreamEvent {
    /// An event as a leader's stream writes it: one JSON object. Its bytes stay as they are.
    package convenience init?(line: [UInt8]) {
        guard let root = try? JSONDocument(parsing: line, limits: .gateway).root, let type = root["type"]?.string else {
            return nil
        }
        var id: EventID?
        if let text = root["id"]?.string {
            guard let parsed = try? EventID(parsing: text) else { return nil }
            id = parsed
        }
        let (session, run) = (root["session"]?.string, root["runId"]?.string)
        var delta: Delta?
        if type == "run.delta", let run, let session, let offset = root["offset"]?.int, let text = root["text"]?.string
        {
            delta = Delta(
                run: run,
                session: session,
                offset: Int(clamping: offset),
                text: text,
                replaces: root["replace"]?.bool ?? false
            )
        }
        self.init(
            type: type,
            session: session,
            run: run,
            id: id,
            data: line,
            delta: delta,
            deltaAt: delta == nil ? nil : root["at"]?.string.flatMap(Timestamp.init(rfc3339:))
        )
    }
}
