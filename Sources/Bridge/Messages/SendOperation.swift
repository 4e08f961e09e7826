import EventLoops
import Server
import HTTPModel
import Gateway
import Upstream

/// `POST /v1/messages`: the message is on disk before the answer.
enum SendOperation {
    static func handle(_ bridge: Bridge, _ call: Call, _ loop: isolated EventLoop) {
        let body = call.exchange.body
        guard body.count > MessageBody.mostOnLoop, (try? call.bodyType())?.isJSON == true else {
            return send(bridge, call, nil, loop)
        }
        let rules = AttachmentRules(bridge.link.hello)
        let bound = LoopBound((bridge, call), on: loop)
        Task {
            let read = await MessageBody.reading(body, rules)
            loop.post { loop in
                guard let (bridge, call) = bound.value(on: loop) else { return }
                send(bridge, call, read, loop)
            }
        }
    }

    private static func send(_ bridge: Bridge, _ call: Call, _ body: MessageBody?, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let request = try MessageRequest(call, bridge, body, now: loop.wallClock)
            try AcceptMessage(bridge, call, request).start(on: loop)
        } catch {
            call.fail(error, on: loop)
        }
    }
}
