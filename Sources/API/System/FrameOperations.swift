import EventLoops
import HTTPModel
import JSONBytes
import Observability
import Server
import Service

/// `GET /v1/debug/frames`: recent frames of the link, without their secrets, as a list or as a stream.
enum FrameOperations {
    static func frames(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let since = try since(of: call)
        guard let kept = api.services.gateway.frames(after: since) else { throw .frameLogOff }
        if call.answerType == .eventStream {
            return api.frames.open(call, since: since, on: loop)
        }
        let limit = try call.number("limit", in: 1...LoggedFrame.mostKept, default: 100)
        let end = try call.number("before", in: 1...Int.max, default: Int.max)
        let wanted = kept.filter { $0.number < end }
        let page = wanted.suffix(limit)
        call.respond(
            .object { object in
                object.array("frames", of: page)
                if page.count < wanted.count { object.member("before", page.first?.number) }
            }.adding(.cacheControl, "no-store"),
            on: loop
        )
    }

    /// The cursor. Frame numbers restart with the program, so a number that is too high counts as no cursor.
    private static func since(of call: Call) throws(Problem) -> Int64 {
        if let text = call.head.fields.string(for: .lastEventID), let number = Int64(text), number >= 0 {
            return number
        }
        return Int64(try call.number("since", in: 0...Int.max, default: 0))
    }
}

extension Problem {
    fileprivate static let frameLogOff = Problem(.frameLogOff, "Gateway frames are not kept: debug.frames is off.")
}
