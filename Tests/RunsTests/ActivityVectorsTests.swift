import Basics
import Gateway
import JSONBytes
import Labels
import Ledger
import TestSupport
import Testing

@testable import Runs

/// The cases of `activity-vectors.json` that go through the reducer; those of labels alone stand in `LabelsTests`.
struct ActivityVectorsTests {
    private static func vectors(_ kind: String) throws -> [JSONValue] {
        try TestData.vectors("activity-vectors.json").filter { $0["kind"]?.string == kind }
    }

    /// Says `(0ms)` for what was never measured; that is the one label of the app's table that is not kept.
    private static let inventedTime: Set<String> = ["result/no-details"]

    @Test func `every result is labelled as its vector says`() throws {
        for vector in try Self.vectors("toolResultLabel") {
            let name = vector["name"]?.string ?? ""
            guard !Self.inventedTime.contains(name) else { continue }
            let isApp = vector["source"]?.string == "app"
            let call = vector["input"]?["toolCall"]
            let result = try #require(vector["input"]?["toolResult"])
            var reducer = RunReducer(
                id: "r",
                session: SessionKey(canonical: "agent:main:main"),
                labels: isApp ? .chowder : .extended,
                now: Timestamp(milliseconds: 1_770_929_370_000)
            )
            reducer.began(at: Timestamp(milliseconds: 1_770_929_370_000))
            if let call, !call.isNull {
                let time = call["timestamp"].map { ",\"timestamp\":\($0.int ?? 0)" } ?? ""
                let arguments = String(decoding: call["arguments"]?.raw ?? [], as: UTF8.self)
                let tool = call["tool"]?.string ?? ""
                let row = TranscriptRow(
                    json(
                        """
                        {"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"\(tool)","arguments":\(arguments)}]\(time)}
                        """
                    )
                )
                reducer.take([try #require(row)])
            }
            let fields = String(decoding: result.raw.dropFirst().dropLast(), as: UTF8.self)
            reducer.take([
                try #require(TranscriptRow(json("{\"role\":\"toolResult\",\"toolCallId\":\"c1\",\(fields)}")))
            ])
            let step = try #require(reducer.run.steps.first, "\(name)")
            let expected = vector["expected"]
            #expect(reducer.run.steps.count == 1, "\(name)")
            #expect(step.label == expected?["label"]?.string, "\(name)")
            if !isApp {
                let status = expected?["status"]?.string
                #expect(step.state.rawValue == (status == "completed" ? "done" : status), "\(name)")
            }
            if let code = expected?["exitCode"]?.int { #expect(step.exitCode == code, "\(name)") }
            if let time = expected?["durationMs"]?.int { #expect(step.durationMilliseconds == time, "\(name)") }
            if let category = expected?["category"]?.string { #expect(step.category.rawValue == category, "\(name)") }
        }
    }

    @Test func `a reply that says nothing is never shown, however it is cut`() throws {
        for vector in try Self.vectors("silentReply") {
            let input = vector["input"]
            let deltas = input?["deltas"]?.elements.compactMap(\.string) ?? [input?["delta"]?.string ?? ""]
            var replay = Replay(labels: .extended)
            var text = ""
            for (number, delta) in deltas.enumerated() {
                text += delta
                replay.take(.named("chat", ChatFrame.delta("r", number + 1, text)), at: Int64(number))
                if vector["expected"]?["visible"]?.isNull ?? true { #expect(replay.text("r").isEmpty) }
            }
            replay.take(.named("chat", ChatFrame.final("r", deltas.count + 1, nil)), at: 100)
            #expect(replay.text("r") == vector["expected"]?["visible"]?.string ?? "", "\(vector["name"]?.string ?? "")")
        }
    }

    @Test func `an error keeps the partial text and is a step of its own`() throws {
        for vector in try Self.vectors("errorDetect") where vector["source"]?.string == "extended" {
            let item = try #require(vector["input"]?["historyItem"])
            let partial = vector["input"]?["bubbleText"]?.string
            var reducer = RunReducer(
                id: "r",
                session: SessionKey(canonical: "agent:main:main"),
                labels: .extended,
                now: Timestamp(milliseconds: 1)
            )
            reducer.began(at: Timestamp(milliseconds: 1))
            if let partial { reducer.agent(AgentFrame.text("r", 1, partial), now: Timestamp(milliseconds: 2)) }
            reducer.end(by: [try #require(TranscriptRow(item))])
            reducer.end(.reported(nil))
            var changes: [RunChange] = []
            _ = reducer.publish(to: &changes)
            let expected = vector["expected"]
            #expect(reducer.run.state == .failed)
            #expect(reducer.run.error == expected?["runError"]?.string)
            if let partial { #expect(reducer.run.text == partial) }
            if let label = expected?["step"]?["label"]?.string {
                #expect(reducer.run.steps.map(\.label) == [label])
                #expect(reducer.run.steps.map(\.state) == [.failed])
            }
        }
    }

    @Test func `events and history of one call are one step`() throws {
        for vector in try Self.vectors("sequence") where vector["source"]?.string == "extended" {
            var reducer = RunReducer(
                id: "r",
                session: SessionKey(canonical: "agent:main:main"),
                labels: .extended,
                now: Timestamp(milliseconds: 1)
            )
            for event in try #require(vector["input"]?["events"]).elements {
                reducer.agent(event, now: Timestamp(milliseconds: 5))
            }
            reducer.take(TranscriptRow.list(vector["input"]?["items"]))
            let steps = reducer.run.steps
            #expect(steps.count == vector["expected"]?["stepCount"]?.int.map { Int($0) })
            #expect(steps.map(\.label) == vector["expected"]?["steps"]?.elements.map { $0["label"]?.string ?? "" })
            #expect(steps.allSatisfy { $0.state == .done && $0.durationMilliseconds == nil })
        }
    }

    @Test func `thoughts are told apart by signature, else by message, place and words`() throws {
        for vector in try Self.vectors("thinkingId") {
            let input = try #require(vector["input"])
            let signature = input["thinkingSignature"].map { String(decoding: $0.raw, as: UTF8.self) } ?? "null"
            let text = String(decoding: input["thinking"]?.raw ?? [], as: UTF8.self)
            let time = input["message"]?["timestamp"]?.int ?? 1_770_929_371_188
            let row = TranscriptRow(
                json(
                    """
                    {"role":"assistant","timestamp":\(time),"content":[
                    {"type":"thinking","thinking":\(text),"thinkingSignature":\(signature)}]}
                    """
                )
            )
            var reducer = RunReducer(
                id: "r",
                session: SessionKey(canonical: "agent:main:main"),
                labels: .extended,
                now: Timestamp(milliseconds: 1)
            )
            reducer.take([try #require(row)])
            reducer.take([try #require(row)])
            #expect(reducer.run.steps.count == 1)
            let key = try #require(reducer.steps.thoughts.rowKeys.first)
            let expected = vector["expected"]?["dedupeKey"]?.string
            switch expected {
            case let known? where known.hasPrefix("rs_"): #expect(key == known)
            case let known?: #expect(key.hasPrefix(known.prefix { $0 != "s" }))
            case nil: #expect(key.hasPrefix("\(time):0:"))
            }
        }
    }

    /// The seed keeps rows that are up to ten seconds older than the run; they may be the answer to the message before.
    @Test func `rows that are older than the run are not the run's`() throws {
        for vector in try Self.vectors("timeFilter") {
            guard let item = vector["input"]?["itemTimestampMs"]?.int, let start = vector["input"]?["runStartMs"]?.int
            else { continue }
            var tracker = RunTracker()
            let now = Timestamp(milliseconds: start)
            _ = tracker.receive(event: "agent", payload: AgentFrame.start("r", start), now: now)
            let page = json(
                """
                {"messages":[{"role":"assistant","timestamp":\(item),"content":[{"type":"thinking","thinking":"Checking trains"}]}]}
                """
            )
            _ = tracker.receive(history: page, session: SessionKey(canonical: "agent:main:main"), now: now)
            #expect(
                tracker.run("r")?.steps.isEmpty == (item < start || vector["expected"]?["keep"]?.bool == false),
                "\(vector["name"]?.string ?? "")"
            )
        }
    }

    @Test func `reply text is never taken for a step`() throws {
        for vector in try Self.vectors("verboseParse") {
            var replay = Replay(labels: .extended)
            replay.take(
                .named("chat", ChatFrame.delta("r", 1, vector["input"]?["chatDeltaText"]?.string ?? "")),
                at: 1
            )
            #expect(replay.tracker.run("r")?.steps.isEmpty == true)
        }
    }
}
