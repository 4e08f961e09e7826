/// The wait for a reply, over restarts of Ladle. The request has a key, so its repeat asks for the same message.
struct ReplyWait {
    /// A server that is away for longer is not being restarted.
    private static let longestAwayMilliseconds: Int64 = 60_000
    private static let pauseMilliseconds = 1_000

    private let io: any CommandIO
    let deadline: Int64
    private var awaySince: Int64?

    init(_ io: any CommandIO, seconds: Int64) {
        self.io = io
        deadline = io.nowMilliseconds + seconds * 1000
    }

    var remaining: Int { Int(clamping: max(1, deadline - io.nowMilliseconds)) }
    var isOver: Bool { io.nowMilliseconds >= deadline }

    mutating func answered() { awaySince = nil }

    /// Waits a moment before the request is made again. False if it is time to give up.
    mutating func pauses() -> Bool {
        let since = awaySince ?? io.nowMilliseconds
        awaySince = since
        guard remaining > Self.pauseMilliseconds, io.nowMilliseconds - since < Self.longestAwayMilliseconds else {
            return false
        }
        io.sleep(milliseconds: Self.pauseMilliseconds)
        return true
    }
}
