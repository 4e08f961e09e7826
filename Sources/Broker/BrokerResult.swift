import Basics
import JSONBytes

/// The result of a command, for the requester.
package enum BrokerResult {
    /// The most bytes of the reply, and of each other text.
    private struct Cut {
        let reply: Int
        let texts: Int
    }

    private static let limits = JSONLimits(depth: 64, bytes: 64 << 20)

    /// - Parameter verb: nil where the command's topic named none.
    package static func refused(
        _ refusal: BrokerRefusal,
        verb: BrokerCommand.Verb?,
        _ address: ResultAddress
    ) -> [UInt8] {
        JSONWriter.bytes(capacity: 512) { object in
            head(&object, verb, address, refusal.status)
            object.member("code", refusal.code.rawValue)
            object.member("detail", refusal.detail)
            object.always("hint", refusal.hint)
            object.always("field", refusal.field)
            object.member("retryable", refusal.isRetryable)
        }
    }

    /// The API's answer to a command's request: the accepted entry or the reply of a message, else the answer as it
    /// is. An answer that does not fit is cut, and says so.
    package static func answered(
        _ body: [UInt8],
        status: Int,
        verb: BrokerCommand.Verb,
        _ address: ResultAddress,
        limit: Int = BrokerLimits.resultBytes
    ) -> [UInt8] {
        let root = try? JSONDocument(parsing: body, limits: limits).root
        let object = root.flatMap { $0.kind == .object ? $0 : nil }
        if status >= 400 { return problem(object, status, verb, address) }
        let half = limit / 2
        for cut in [nil, Cut(reply: half, texts: 4 << 10), Cut(reply: half, texts: 256)] {
            guard cut != nil || body.count <= limit else { continue }
            let bytes = answer(object, status, verb, address, cut)
            if bytes.count <= limit { return bytes }
        }
        return JSONWriter.bytes(capacity: 512) { result in
            head(&result, verb, address, status)
            if verb == .send, status == 200 {
                let reply = object?["reply"]?.string ?? ""
                result.member("reply", BrokerText.beginning(reply, jsonBytes: half).text)
                result.always("run", nil as String?)
            } else {
                result.always(verb == .send ? "entry" : "answer", nil as String?)
            }
            result.member("truncated", true)
        }
    }

    /// The caller's own summary of a command for all, such as all runs.
    package static func counted(
        done: Int,
        failed: Int,
        verb: BrokerCommand.Verb,
        _ address: ResultAddress
    ) -> [UInt8] {
        JSONWriter.bytes { object in
            head(&object, verb, address, 200)
            object.object("answer") { answer in
                answer.member("done", done)
                answer.member("failed", failed)
            }
            object.member("truncated", false)
        }
    }

    private static func answer(
        _ root: JSONValue?,
        _ status: Int,
        _ verb: BrokerCommand.Verb,
        _ address: ResultAddress,
        _ cut: Cut?
    ) -> [UInt8] {
        JSONWriter.bytes(capacity: 1024) { result in
            func copy(_ name: String, _ value: JSONValue?, _ limit: Int?) {
                result.key(name)
                guard let value else { return result.null() }
                if let limit { result.copy(value, textsTo: limit) } else { result.copy(value) }
            }
            head(&result, verb, address, status)
            if verb == .send, status == 200, let reply = root?["reply"] {
                copy("reply", reply, cut?.reply)
                copy("run", root?["run"], cut?.texts)
            } else {
                copy(verb == .send ? "entry" : "answer", root, cut?.texts)
            }
            result.member("truncated", cut != nil)
        }
    }

    private static func problem(
        _ root: JSONValue?,
        _ status: Int,
        _ verb: BrokerCommand.Verb,
        _ address: ResultAddress
    ) -> [UInt8] {
        func text(_ name: String, limit: Int) -> String? {
            root?[name]?.string.map { BrokerText.short($0, limit: limit) }
        }
        return JSONWriter.bytes(capacity: 512) { result in
            head(&result, verb, address, status)
            result.member("code", text("code", limit: 100) ?? "UNKNOWN")
            result.member("detail", text("detail", limit: 1000) ?? "The command was answered with status \(status).")
            result.always("hint", text("hint", limit: 1000))
            result.always("field", text("field", limit: 100))
            result.member("retryable", root?["retryable"]?.bool ?? false)
        }
    }

    private static func head(
        _ object: inout JSONWriter,
        _ verb: BrokerCommand.Verb?,
        _ address: ResultAddress,
        _ status: Int
    ) {
        object.always("id", address.id)
        object.always("verb", verb?.rawValue)
        object.member("status", status)
    }
}
