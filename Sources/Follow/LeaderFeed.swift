import Basics
package import EventLoops
package import HTTPModel
package import Outbound

/// The leader's stream of events as it arrives, cut into lines.
package final class LeaderFeed: AnswerReceiver {
    /// Longer than any event of a stream, which has 128 KiB of data at most.
    private static let longestLine = 1 << 20

    private let line: ([UInt8]) -> Void
    private var ended: ((String) -> Void)?
    private var rest: [UInt8] = []
    private var status = 0

    /// - Parameter ended: the last call, with the reason.
    package init(line: @escaping ([UInt8]) -> Void, ended: @escaping (String) -> Void) {
        self.line = line
        self.ended = ended
    }

    package func answerBegan(_ head: ResponseHead, on loop: isolated EventLoop) {
        status = Int(head.status.code)
        if status != 200 { end("the leader answers its stream with status \(status)") }
    }

    package func answerContinued(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard ended != nil else { return }
        var start = 0
        for place in bytes.indices where bytes[place] == 0x0A {
            rest.append(copying: bytes.extracting(start..<place))
            start = place + 1
            let whole = rest
            rest.removeAll(keepingCapacity: true)
            if !whole.isEmpty { line(whole) }
            guard ended != nil else { return }
        }
        rest.append(copying: bytes.extracting(start..<bytes.count))
        if rest.count > Self.longestLine { end("a line of the leader's stream is too long") }
    }

    package func answerEnded(on loop: isolated EventLoop) { end("the leader ended its stream") }

    package func answerFailed(_ failure: ServerFailure, on loop: isolated EventLoop) { end(failure.reason) }

    private func end(_ reason: String) {
        let last = ended
        ended = nil
        last?(reason)
    }
}
