import EventLoops
import Gateway
import HTTPModel
import Server
import Upstream

/// `POST /v1/messages`: the message is on disk before the answer.
enum SendOperation {
    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let body = call.exchange.body
        guard body.count > MessageBody.mostOnLoop, (try? call.bodyType())?.isJSON == true else {
            return send(api, call, nil, loop)
        }
        let rules = AttachmentRules(api.link.hello)
        let bound = LoopBound((api, call), on: loop)
        Task {
            let read = await MessageBody.reading(body, rules)
            loop.post { loop in
                guard let (api, call) = bound.value(on: loop) else { return }
                send(api, call, read, loop)
            }
        }
    }

    private static func send(_ api: HTTPAPI, _ call: Call, _ body: MessageBody?, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let request = try MessageRequest(call, api, body, now: loop.wallClock)
            try AcceptMessage(api, call, request).start(on: loop)
        } catch {
            call.fail(error, on: loop)
        }
    }
}
