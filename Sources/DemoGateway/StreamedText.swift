/// The text of a run, and its parts that no frame carries yet.
final class StreamedText {
    /// The shortest time between two chat deltas of a run.
    private static let throttleMs = 150
    /// The number of deltas after which the text of a burst starts over, as March's does after a tool: before June,
    /// frames carry the whole text so far.
    private static let burstBlock = 64

    /// The text of the run so far.
    private(set) var whole = ""
    /// The text of the assistant message in progress.
    private(set) var block = ""
    /// The text of the assistant message before it.
    private var earlierBlock = ""
    private var unsentAgent = ""
    private var unsentChat = ""
    private var hasSentChat = false
    private var lastFlush: UInt64?

    private let frames: RunFrames
    private let release: DemoRelease
    private let clock: DemoClock

    init(_ frames: RunFrames, _ host: DemoHost) {
        self.frames = frames
        release = host.release
        clock = host.clock
    }

    /// The text in chat events: March starts over after tools.
    var shown: String { release.restartsTextAfterTools ? block : whole }

    /// The text in an abort.
    var aborted: String { shown.isEmpty ? earlierBlock : shown }

    func say(_ piece: String) {
        block += piece
        whole += piece
        unsentChat += piece
        let pause = UInt64(clock.paced(Self.throttleMs)) * 1_000_000
        let isDue = lastFlush.map { clock.now.monotonic &- $0 >= pause } ?? true
        if release.gathersAgentText {
            frames.nextSeq()
            unsentAgent += piece
            if isDue { flushAgent() }
        } else {
            frames.agent("assistant", ["text": block, "delta": piece])
        }
        guard isDue else { return }
        flushChat(seq: frames.seq)
        lastFlush = clock.now.monotonic
    }

    /// Sends the gathered text under the number of its newest piece.
    func flushAgent() {
        guard !unsentAgent.isEmpty else { return }
        let delta = unsentAgent
        unsentAgent = ""
        frames.agent("assistant", ["text": block, "delta": delta], seq: frames.seq)
    }

    /// Sends the batched chat text; March drops unsent text.
    func flushChat() {
        if release.flushesText { flushChat(seq: frames.seq) }
    }

    private func flushChat(seq: Int) {
        guard !unsentChat.isEmpty else { return }
        let delta = unsentChat
        unsentChat = ""
        sendChat(delta, carriesText: !release.appendsOnly || !hasSentChat, shown, seq: seq)
    }

    private func sendChat(_ delta: String, carriesText: Bool, _ text: String, seq: Int) {
        hasSentChat = true
        frames.chat(
            [
                "state": "delta", "deltaText": release.hasDeltaText ? delta : nil,
                "message": carriesText ? frames.message(text) : nil,
            ],
            seq: seq
        )
    }

    /// Ends a block. Later releases send the rest of the text before a tool starts; March drops it until the next text.
    func endBlock() {
        if release.flushesText { flushChat(seq: frames.seq + 1) }
        flushAgent()
        unsentAgent = ""
        unsentChat = ""
        lastFlush = nil
        if !block.isEmpty { earlierBlock = block }
        block = ""
    }

    // MARK: - Burst

    /// A delta for measurements, with its number and the monotonic clock at its sending.
    func sendBurstDelta(_ number: Int, _ stream: DemoScript.BurstStream) {
        let piece = "{\"seq\":\(number),\"ts_ns\":\(clock.now.monotonic)}\n"
        if !release.hasDeltaText, (number - 1) % Self.burstBlock == 0 { block = "" }
        if block.utf8.count > DemoScript.longTextLimit { block = "" }
        block += piece
        if release.hasDeltaText, whole.utf8.count < DemoScript.longTextLimit { whole += piece }
        if !release.hasDeltaText { whole = block }
        // Later releases send the whole text only once here, since cumulative frames would measure the building of
        // text.
        let carriesText = !release.hasDeltaText || !hasSentChat
        if stream != .chat { frames.agent("assistant", ["text": carriesText ? block : nil, "delta": piece]) }
        if stream != .agent { sendChat(piece, carriesText: carriesText, block, seq: frames.nextSeq()) }
        hasSentChat = true
    }

    func endBurst() {
        unsentAgent = ""
        unsentChat = ""
    }
}
