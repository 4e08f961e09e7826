import Basics
import JSONBytes
import Labels

/// Agent events: lifecycle, text, thoughts.
extension RunReducer {
    mutating func agent(_ payload: JSONValue, now: Timestamp) {
        let time = GatewayTime.read(payload["ts"]) ?? now
        let sequence = payload["seq"]?.int ?? 0
        lastEvent = max(lastEvent, time)
        guard let stream = payload["stream"], let data = payload["data"] else { return }
        frame = sequence
        defer { frame = nil }
        if let terminal = terminalSequence, terminal > 1, sequence > terminal {
            // A try after the end, under the same id: another story.
            return
        }
        if stream.equals("assistant") { return assistant(data, sequence: sequence) }
        if stream.equals("tool") { return tool(data, at: time) }
        if stream.equals("lifecycle") { return lifecycle(data, sequence: sequence, at: time, now: now) }
        if stream.equals("item") { return item(data, at: time) }
        if stream.equals("command_output") { return commandOutput(data, at: time) }
        if stream.equals("thinking") { return thinking(data, sequence: sequence, at: time) }
        if stream.equals("compaction") { return compaction(data, sequence: sequence, at: time) }
        if stream.equals("fallback") { return fallback(data, sequence: sequence, at: time) }
        if stream.equals("approval") { return approval(data, at: time) }
        // The server tells that frames of this run did not reach us.
        if stream.equals("error") { hasGap = true }
    }

    mutating func began(at time: Timestamp) {
        firstEvent = firstEvent.map { min($0, time) } ?? time
    }

    private mutating func assistant(_ data: JSONValue, sequence: Int64) {
        closeThought()
        let replaces = data["replace"]?.bool ?? false
        if let text = data["text"]?.utf8, !(text.isEmpty && !replaces) {
            _ = agentText.take(replaces ? .replacement(Array(text)) : .sofar(Array(text)), sequence: sequence)
        } else if let delta = data["delta"]?.utf8, !delta.isEmpty || replaces {
            _ = agentText.take(replaces ? .replacement(Array(delta)) : .piece(Array(delta)), sequence: sequence)
        }
    }

    // MARK: lifecycle

    private mutating func lifecycle(_ data: JSONValue, sequence: Int64, at time: Timestamp, now: Timestamp) {
        guard let phase = data["phase"] else { return }
        if phase.equals("start") {
            let start = GatewayTime.read(data["startedAt"]) ?? time
            startedAt = startedAt.map { min($0, start) } ?? start
            evidence.started(sequence: sequence)
        } else if phase.equals("end") || phase.equals("done") {
            end(data, sequence: sequence, at: time, failed: false, now: now)
        } else if phase.equals("error") {
            end(data, sequence: sequence, at: time, failed: true, now: now)
        } else if phase.equals("fallback") || phase.equals("fallback_step") {
            fallback(data, sequence: sequence, at: time)
        }
    }

    private mutating func end(_ data: JSONValue, sequence: Int64, at time: Timestamp, failed: Bool, now: Timestamp) {
        let aborted = data["aborted"]?.bool ?? data["stopReason"]?.equals("aborted") ?? false
        let error = data["error"]?.string ?? data["error"]?["message"]?.string
        began(at: time)
        if endedAt.map({ sequence >= $0.sequence }) ?? true {
            endedAt = (sequence, GatewayTime.read(data["endedAt"]) ?? time)
        }
        evidence.ended(
            sequence: sequence,
            error: failed && !aborted ? error : nil,
            failed: failed,
            aborted: aborted,
            isFinal: data["fallbackExhaustedFailure"]?.bool ?? false,
            now: now
        )
    }

    /// Another model takes over: something to know, no failure.
    private mutating func fallback(_ data: JSONValue, sequence: Int64, at time: Timestamp) {
        began(at: time)
        let model = (data["fallbackStepToModel"] ?? data["toModel"] ?? data["activeModel"] ?? data["model"])?.string
        // The gateway's own command replies name themselves a model.
        guard let model, model != "gateway-injected", !model.isEmpty else { return }
        let reason = (data["fallbackStepFromFailureDetail"] ?? data["reasonSummary"] ?? data["reason"])?.string
        let label = ActivityLabel("Switching to \(SecretMask.name(LabelText.collapsed(model)))", .generic)
        guard let place = place("fallback:\(sequence)", kind: .notice, at: time, label: { label }) else { return }
        records[place].label.detail = reason.map { SecretMask.text($0).cut(to: LabelLimits.detailCharacters) }
        records[place].live.ended(time)
    }

    private mutating func compaction(_ data: JSONValue, sequence: Int64, at time: Timestamp) {
        began(at: time)
        let label = ActivityLabel("Compacting the conversation", .memory)
        guard let place = place("compaction", kind: .notice, at: time, label: { label }) else { return }
        if data["phase"]?.equals("start") ?? false {
            records[place].live.started(time)
        } else {
            records[place].live.ended(time)
        }
    }

    // MARK: thoughts

    private mutating func thinking(_ data: JSONValue, sequence: Int64, at time: Timestamp) {
        began(at: time)
        let frame: TextAssembler.Frame
        if let text = data["text"]?.utf8, !text.isEmpty {
            frame = .sofar(Array(text))
        } else if let delta = data["delta"]?.utf8, !delta.isEmpty {
            frame = .piece(Array(delta))
        } else {
            return
        }
        let words = Self.words(String(decoding: frame.bytes, as: UTF8.self))
        let place = thoughts.lastIndex { thought in
            guard case .sofar = frame else { return true }
            let known = Self.words(String(decoding: thought.text.open, as: UTF8.self))
            return words.hasPrefix(known) || known.hasPrefix(words)
        }
        var number = place ?? thoughts.count
        if place == nil {
            guard thoughts.count < ActivityLimits.stepsPerRun else { return }
            thoughts.append(
                LiveThought(
                    first: sequence,
                    last: sequence,
                    text: TextAssembler(.whole, limit: ActivityLimits.thoughtBytes)
                )
            )
            number = thoughts.count - 1
        }
        _ = thoughts[number].text.take(frame, sequence: sequence)
        let full = String(
            decoding: thoughts[number].text.open.prefix(4 * ActivityLimits.thinkingCharacters),
            as: UTF8.self
        )
        let body = Self.withoutHeading(full)
        guard let line = ThinkingLabel.text(of: body) else { return }
        let label = ActivityLabel(line, .thinking)
        guard let step = self.place("thought:\(number + 1)", kind: .thinking, at: time, label: { label }) else {
            return
        }
        records[step].label.active = line
        records[step].label.detail = SecretMask.text(body.trimmingBlanks().cut(to: ActivityLimits.thinkingCharacters))
        records[step].live.started(time)
        records[step].live.ended(time)
        records[step].isOpenThought = true
        openThought = step
    }

    /// A thought is over when the agent speaks or acts.
    mutating func closeThought() {
        guard let step = openThought else { return }
        openThought = nil
        records[step].isOpenThought = false
        touch(step)
    }

    /// The gateway puts a heading line before streamed reasoning.
    private static func withoutHeading(_ text: String) -> String {
        let lines = text.split(maxSplits: 1, omittingEmptySubsequences: true, whereSeparator: \.isNewline)
        guard lines.count > 1,
            ["reasoning:", "thinking:"].contains(lines[0].lowercased().filter { $0 != "*" && $0 != "_" })
        else {
            return text
        }
        return String(lines[1])
    }
}
