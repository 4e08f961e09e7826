import Basics
import JSONBytes

/// Chat events: the run's text and its end.
extension RunReducer {
    mutating func chat(_ payload: JSONValue, now: Timestamp) {
        guard let state = payload["state"] else { return }
        let sequence = payload["seq"]?.int ?? 0
        let message = payload["message"]
        let time = GatewayTime.read(message?["timestamp"]) ?? GatewayTime.read(payload["ts"])
        if let time { lastEvent = max(lastEvent, time) }
        if state.equals("delta") {
            began(at: time ?? now)
            return delta(payload, message, sequence: sequence)
        }
        let isFinal = state.equals("final")
        let isAborted = state.equals("aborted")
        guard isFinal || isAborted || state.equals("error") else { return }
        terminalSequence = max(terminalSequence ?? sequence, sequence)
        began(at: time ?? now)
        if let time { chatEndedAt = chatEndedAt.map { min($0, time) } ?? time }
        if finalUsage == nil { finalUsage = RunUsage(payload["usage"]) ?? RunUsage(message?["usage"]) }
        if isFinal {
            evidence.finished()
            if let text = ReplyText.of(message: message), !text.isEmpty { finalText = Array(text.utf8) }
        } else if isAborted {
            evidence.aborted()
            if let text = ReplyText.of(message: message), !text.isEmpty { abortedText = Array(text.utf8) }
        } else {
            // The message of an error only repeats it: the partial text stays.
            evidence.failed(payload["errorMessage"]?.string ?? ReplyText.of(message: message), sequence: sequence)
        }
    }

    /// With `message`, its text is all of it; otherwise `deltaText` is added, or replaces.
    private mutating func delta(_ payload: JSONValue, _ message: JSONValue?, sequence: Int64) {
        if let first = message?["content"]?[0], message?["content"]?.count == 1, let text = first["text"]?.utf8 {
            _ = chatText.take(.sofar(Array(text)), sequence: sequence)
        } else if let message, let text = ReplyText.of(message: message) {
            _ = chatText.take(.sofar(Array(text.utf8)), sequence: sequence)
        } else if let piece = payload["deltaText"]?.utf8 {
            let replaces = payload["replace"]?.bool ?? false
            _ = chatText.take(replaces ? .replacement(Array(piece)) : .piece(Array(piece)), sequence: sequence)
        }
    }
}
