/// Frames and rows as gateways send them.
enum Frame {
    static let main = "agent:main:main"

    static func agent(
        _ run: String,
        _ sequence: Int,
        _ stream: String,
        _ data: String,
        session: String = main,
        at: Int64 = 1_795_000_000_000
    ) -> String {
        #"{"runId":"\#(run)","seq":\#(sequence),"stream":"\#(stream)","ts":\#(at),"data":\#(data),"#
            + #""sessionKey":"\#(session)"}"#
    }

    static func start(_ run: String, session: String = main, at: Int64 = 1_795_000_000_000) -> String {
        agent(run, 1, "lifecycle", #"{"phase":"start","startedAt":\#(at)}"#, session: session)
    }

    static func text(
        _ run: String,
        _ sequence: Int,
        _ text: String,
        session: String = main,
        at: Int64 = 1_795_000_000_000
    ) -> String {
        agent(run, sequence, "assistant", #"{"text":\#(quoted(text)),"delta":""}"#, session: session, at: at)
    }

    static func tool(_ run: String, _ sequence: Int, _ phase: String, session: String = main) -> String {
        let rest = phase == "start" ? #""args":{"command":"date"}"# : #""isError":false"#
        let data = #"{"phase":"\#(phase)","name":"exec","toolCallId":"call-1",\#(rest)}"#
        return agent(run, sequence, "tool", data, session: session)
    }

    static func final(_ run: String, _ sequence: Int, _ text: String?, session: String = main) -> String {
        let message = text.map {
            #","message":{"role":"assistant","content":[{"type":"text","text":\#(quoted($0))}],"timestamp":1795000009000}"#
        }
        return #"{"runId":"\#(run)","sessionKey":"\#(session)","seq":\#(sequence),"state":"final"\#(message ?? "")}"#
    }

    static func end(_ run: String, _ state: String, session: String = main) -> String {
        #"{"runId":"\#(run)","sessionKey":"\#(session)","seq":9,"state":"\#(state)","errorMessage":"it broke"}"#
    }
}

enum Row {
    /// The prompt with which a restarted gateway goes on with a message.
    static func resumption(of words: String) -> String {
        "[Queued user message that arrived while the previous turn was still active]\n\(words)\n\n[System] Your previous "
            + "turn was interrupted by a gateway restart while OpenClaw was waiting."
    }

    static func user(_ text: String, key: String? = nil, id: String? = nil, at: Int64 = 1_795_000_000_000) -> String {
        row("user", text, key: key.map { "\($0):user" }, id: id, at: at)
    }

    static func assistant(_ text: String, key: String? = nil, id: String? = nil, at: Int64 = 1_795_000_001_000)
        -> String
    {
        row("assistant", text, key: key, id: id, at: at, more: #","stopReason":"stop""#)
    }

    private static func row(
        _ role: String,
        _ text: String,
        key: String?,
        id: String?,
        at: Int64,
        more: String = ""
    ) -> String {
        let idText = id.map { #","__openclaw":{"id":"\#($0)"}"# } ?? ""
        let keyText = key.map { #","idempotencyKey":"\#($0)""# } ?? ""
        return #"{"role":"\#(role)","content":[{"type":"text","text":\#(quoted(text))}],"timestamp":\#(at)"#
            + "\(keyText)\(idText)\(more)}"
    }
}
