import Access
import EventLoops
import JSONBytes
import Service

/// The state of an application in the event `pairing`.
enum PairingNews: String {
    case waiting, approved, rejected
}

extension HTTPAPI {
    /// Publishes the event, and notifies people of a waiting device. The event is not kept: an application exists only
    /// in memory, for five minutes.
    func tell(_ news: PairingNews, _ request: PairingRequest, on loop: isolated EventLoop) {
        let event = StreamEvent(transient: "pairing", at: loop.wallClock) { writer in
            writer.member("state", news.rawValue)
            writer.member("request", request)
        }
        feed.pass(event, on: loop)
        guard news == .waiting, access.mayTellOfApplication(on: loop) else { return }
        services.notifications.pairingRequested(request, on: loop)
    }
}
