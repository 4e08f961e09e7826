import Basics
package import EventLoops
package import HTTPModel
package import Outbound

/// Gathers a short answer and hands it on whole.
package final class WholeAnswer: AnswerReceiver {
    package typealias Result = Swift.Result<(status: Int, body: [UInt8]), ServerFailure>

    private static let mostBytes = 8 << 20

    private var completion: ((Result) -> Void)?
    /// Given up where the answer is too long.
    weak var connection: ServerConnection?
    private var status = 0
    private var body: [UInt8] = []

    package init(_ completion: @escaping (Result) -> Void) {
        self.completion = completion
    }

    package func answerBegan(_ head: ResponseHead, on loop: isolated EventLoop) { status = Int(head.status.code) }

    package func answerContinued(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard body.count + bytes.count <= Self.mostBytes else {
            connection?.cancel(on: loop)
            return finish(.failure(.lost("its answer is too long")))
        }
        body.append(copying: bytes)
    }

    package func answerEnded(on loop: isolated EventLoop) { finish(.success((status, body))) }

    package func answerFailed(_ failure: ServerFailure, on loop: isolated EventLoop) { finish(.failure(failure)) }

    private func finish(_ result: Result) {
        let last = completion
        completion = nil
        last?(result)
    }
}
