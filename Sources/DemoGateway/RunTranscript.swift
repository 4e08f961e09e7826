/// The rows of one run: the user's, held back as long as the shape requires, and the answers.
final class RunTranscript {
    private let session: DemoSession
    private unowned let host: DemoHost
    private let messageText: String
    private var userRow: DemoRow
    private let isRecovery: Bool
    private let runID: String?
    private let inputs: [String]
    private var isCommitted = false
    private var isAnnounced = false

    init(_ message: DemoMessage, _ session: DemoSession, _ host: DemoHost, runID: String? = nil) {
        self.session = session
        self.host = host
        messageText = message.text
        userRow = message.userRow
        isRecovery = message.isRecovery
        self.runID = runID
        inputs = message.inputs.isEmpty ? [message.key] : message.inputs.map(\.key)
        // A repeat whose row an earlier process wrote runs again, without another row.
        isCommitted = host.release.hasCustody && session.hasRow(of: message.key)
    }

    /// Starts the run: writes the user's row, or keeps it for the first answer.
    func begin() {
        let shape = host.shape
        if shape.dropsUnanswered, session.rows.last?.isUser == true { session.removeLastRow() }
        // The prompt of a resumed run has the time of its start in all releases.
        if isRecovery || shape.rowTime == .ofStart { userRow.timestamp = host.clock.wallMs }
        userRow.recordedAt = host.clock.wallMs
        switch host.options.storesUserRowAtOnce ? .atStart : shape.userRow {
        case .withAnswer: break
        case .atStart: commitUserRow()
        case .atStartOfOldSessions where !session.rows.isEmpty: commitUserRow()
        case .atStartOfOldSessions:
            isAnnounced = true
            host.sessions.announce(userRow, at: 1, in: session)
        }
    }

    func commitUserRow() {
        guard !isCommitted else { return }
        isCommitted = true
        session.custody.consume(inputs, by: userRow.id, dropsSingle: host.release.dropsSingleInputs)
        guard !isAnnounced else { return host.sessions.restore(userRow, to: session) }
        userRow.recordedAt = host.clock.wallMs
        host.sessions.append(userRow, to: session)
    }

    /// Writes the user's row again for a further attempt of the run.
    func repeatUserRow() {
        var row = host.sessions.row(userRow.kind, userRow.blocks, at: userRow.timestamp)
        if host.shape.rowTime == .ofStart { row.timestamp = host.clock.wallMs }
        row.recordedAt = host.clock.wallMs
        host.sessions.append(row, to: session)
    }

    /// Appends a row of the run, after the user's row.
    func append(_ kind: DemoRow.Kind, _ blocks: [DemoRow.Block]) {
        commitUserRow()
        appendAhead(kind, blocks)
    }

    /// Appends a row without the user's row before it.
    func appendAhead(_ kind: DemoRow.Kind, _ blocks: [DemoRow.Block]) {
        var row = host.sessions.row(kind, blocks)
        row.runID = runID
        host.sessions.append(row, to: session)
    }

    /// Sends subscribers a row that is not written to the transcript.
    func announceOnly(_ kind: DemoRow.Kind, _ blocks: [DemoRow.Block]) {
        host.sessions.announce(host.sessions.row(kind, blocks), at: session.rows.count + 1, in: session)
    }

    func usage(of text: String) -> DemoRow.Usage {
        let used = DemoRow.Usage(input: 8_000 + messageText.utf8.count / 4, output: 8 + text.utf8.count / 4)
        session.inputTokens = used.input
        session.outputTokens += used.output
        return used
    }
}
