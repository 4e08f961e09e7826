import EventLoops
import Exchanges

/// `POST /v1/messages`: the message is on disk before the answer.
enum SendOperation {
    static func handle(_ bridge: Bridge, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let request = try MessageRequest(call, bridge, now: loop.wallClock)
            try Sending(bridge, call, request).start(on: loop)
        } catch {
            call.fail(error, on: loop)
        }
    }
}
