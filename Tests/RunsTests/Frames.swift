import Basics
import Gateway
import JSONBytes
import Ledger

@testable import Runs

/// Frames as gateways send them, small. `session` is what protocol 3 and 4 write in events.
enum AgentFrame {
    static func make(
        _ run: String,
        _ sequence: Int,
        _ stream: String,
        _ data: String,
        at: Int64 = 0,
        session: String = "agent:main:main"
    )
        -> JSONValue
    {
        json(
            """
            {"runId":"\(run)","seq":\(sequence),"stream":"\(stream)","ts":\(1_795_000_000_000 + at),\
            "data":\(data),"sessionKey":"\(session)"}
            """
        )
    }

    static func start(_ run: String, _ time: Int64 = 1_795_000_000_000, session: String = "agent:main:main")
        -> JSONValue
    {
        make(run, 1, "lifecycle", "{\"phase\":\"start\",\"startedAt\":\(time)}", session: session)
    }

    static func end(_ run: String, _ sequence: Int, at: Int64 = 0) -> JSONValue {
        make(run, sequence, "lifecycle", "{\"phase\":\"end\",\"endedAt\":\(1_795_000_000_000 + at)}", at: at)
    }

    /// The text so far.
    static func text(_ run: String, _ sequence: Int, _ text: String) -> JSONValue {
        make(run, sequence, "assistant", "{\"text\":\(quoted(text)),\"delta\":\"\"}")
    }

    /// Newer gateways: only the new piece.
    static func piece(_ run: String, _ sequence: Int, _ text: String, replace: Bool = false) -> JSONValue {
        make(run, sequence, "assistant", "{\"delta\":\(quoted(text))\(replace ? ",\"replace\":true" : "")}")
    }

    static func toolStart(_ run: String, _ sequence: Int, _ id: String, _ name: String, _ arguments: String, at: Int64)
        -> JSONValue
    {
        make(
            run,
            sequence,
            "tool",
            "{\"phase\":\"start\",\"name\":\"\(name)\",\"toolCallId\":\"\(id)\",\"args\":\(arguments)}",
            at: at
        )
    }

    static func toolResult(
        _ run: String,
        _ sequence: Int,
        _ id: String,
        _ name: String,
        _ result: String? = nil,
        isError: Bool = false,
        at: Int64
    ) -> JSONValue {
        let value = result.map { ",\"result\":\($0)" } ?? ""
        return make(
            run,
            sequence,
            "tool",
            "{\"phase\":\"result\",\"name\":\"\(name)\",\"toolCallId\":\"\(id)\",\"isError\":\(isError)\(value)}",
            at: at
        )
    }
}

enum ChatFrame {
    static func make(
        _ run: String,
        _ sequence: Int,
        _ state: String,
        _ rest: String = "",
        session: String = "agent:main:main"
    ) -> JSONValue {
        json("{\"runId\":\"\(run)\",\"sessionKey\":\"\(session)\",\"seq\":\(sequence),\"state\":\"\(state)\"\(rest)}")
    }

    static func delta(_ run: String, _ sequence: Int, _ text: String) -> JSONValue {
        make(run, sequence, "delta", message(text))
    }

    static func piece(_ run: String, _ sequence: Int, _ text: String, replace: Bool = false) -> JSONValue {
        make(run, sequence, "delta", ",\"deltaText\":\(quoted(text))\(replace ? ",\"replace\":true" : "")")
    }

    static func final(_ run: String, _ sequence: Int, _ text: String?, session: String = "agent:main:main") -> JSONValue
    {
        make(run, sequence, "final", text.map { message($0) } ?? "", session: session)
    }

    static func message(_ text: String) -> String {
        ",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\(quoted(text))}],\"timestamp\":1795000009000}"
    }
}

func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.bytes, as: UTF8.self)
}

/// JSON written in a test. Text that is none is a mistake in that test, which cannot go on without it.
func json(_ text: String) -> JSONValue {
    do {
        return try JSONDocument(parsing: text, limits: .gateway).root
    } catch {
        preconditionFailure("test JSON at byte \(error.offset): \(error.reason)")
    }
}

extension AgentEvent {
    /// The tool call that the event is about.
    var callId: String? {
        switch content {
        case .tool(let call): call.id
        case .item(let item): item.toolCallId
        case .commandOutput(let output): output.toolCallId
        case .approval(let approval): approval.toolCallId
        default: nil
        }
    }
}

extension RunTracker {
    mutating func receive(event name: String, payload: JSONValue, now: Timestamp) -> [RunChange] {
        receive(GatewayEventPayload(event: name, payload), now: now)
    }

    mutating func receive(history payload: JSONValue, session: SessionKey, now: Timestamp) -> [RunChange] {
        receive(ChatHistory.Output(payload), session: session, askedAt: now, now: now)
    }

    /// The sessions whose transcript is wanted now; their next turn comes later.
    mutating func looks(_ now: Timestamp) -> [SessionKey] { takeLooks(now: now, room: 100, except: []) }

    /// The link was lost and is there again.
    mutating func relink(process: Continuity = .same, startedAt: Timestamp? = nil, now: Timestamp) {
        linkLost()
        let start = process == .other ? now.adding(milliseconds: clockSkewMs - 1_000) : nil
        linkOpened(process: process, startedAt: startedAt ?? start, now: now)
    }
}

extension RunReducer {
    mutating func agent(_ payload: JSONValue, now: Timestamp) {
        take(AgentEvent(payload), resultsInRows: false, now: now)
    }
}

extension MessagePage {
    init(
        history payload: JSONValue,
        session: SessionKey,
        tracker: RunTracker,
        sent: [SentMessage] = [],
        told: [String: String] = [:],
        now: Timestamp
    ) {
        self.init(ChatHistory.Output(payload), session: session, tracker: tracker, sent: sent, told: told, now: now)
    }
}
