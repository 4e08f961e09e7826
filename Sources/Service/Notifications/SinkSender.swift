import Access
import Basics
import EventLoops
import Notifications
import Observability
import Runs
import TLS

/// Composes the message of a notification for its sink, with the buttons of an approval, and hands it to the transport.
final class SinkSender {
    /// The most approvals whose buttons are kept. Buttons are made once and reused when a delivery is repeated.
    private static let mostButtons = 64

    private let settings: NotificationSettings
    private let gateway: any GatewayCalls
    private let approvals: ApprovalService
    private let links: ApprovalLinks
    private let sessionModel: SessionModel
    private let transport: any SinkTransport
    private let log: Log
    private var buttons: [String: [SinkMessage.Button]] = [:]

    init(
        settings: NotificationSettings,
        gateway: any GatewayCalls,
        approvals: ApprovalService,
        links: ApprovalLinks,
        sessionModel: SessionModel,
        transport: any SinkTransport,
        log: Log
    ) {
        self.settings = settings
        self.gateway = gateway
        self.approvals = approvals
        self.links = links
        self.sessionModel = sessionModel
        self.transport = transport
        self.log = log
    }

    /// Forgets the buttons of an ended approval.
    func ended(_ subject: Notification.Subject) {
        if subject.kind == .approval { buttons[subject.id] = nil }
    }

    /// Sends one notification, past the delivery machine.
    func sendAlone(
        _ one: Notification,
        to sink: NotificationSink,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        let message = SinkMessage(one, for: sink, sessionTitle: nil, base: settings.publicURL)
        handOver(message, to: sink, on: loop, completion)
    }

    /// - Parameters:
    ///   - one: the notification of the leading delivery.
    ///   - others: further notifications that the message covers.
    func send(
        _ sending: DeliveryMachine.Sending,
        _ one: Notification,
        _ others: [Notification],
        to sink: NotificationSink,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        var message = SinkMessage(
            one,
            for: sink,
            sessionTitle: one.session.flatMap { sessionModel.title(of: $0) },
            base: settings.publicURL
        )
        message.others = others
        if sending.isDigest { message.digestAt = loop.wallClock }
        message.hiddenCount = sending.hiddenCount
        message.lostCount = sending.lostCount
        if sending.delivery.purpose == .remove { return remove(message, on: loop, completion) }
        let approval = one.subject.flatMap { $0.kind == .approval ? approvals.item($0.id, on: loop) : nil }
        guard let approval, approval.isPending else { return handOver(message, to: sink, on: loop, completion) }
        message.question = approval.question
        let plain = message
        loop.start { [self] in
            var message = plain
            message.buttons = await makeButtons(one, approval, for: sink, on: loop)
            handOver(message, to: sink, on: loop, completion)
        }
    }

    private func handOver(
        _ message: SinkMessage,
        to sink: NotificationSink,
        on loop: isolated EventLoop,
        _ completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        if let command = message.command(now: loop.wallClock, environment: settings.environment) {
            return transport.run(command, on: loop) { [log] outcome, output in
                if !output.isEmpty {
                    let text = Printable.line(String(decoding: output, as: UTF8.self))
                    log.info("notifications.command", ["sink": .string(sink.name), "output": .string(text)])
                }
                completion(outcome)
            }
        }
        guard let request = message.request(now: loop.wallClock, { HMAC.sha256(key: $0, $1) }),
            let policy = settings.addresses(beside: gateway)
        else {
            return completion(.failed(status: nil, error: "the sink has no address", retryAfterMs: nil))
        }
        transport.send(request, allowed: policy, on: loop, completion: completion)
    }

    /// Removes a message. A server that does not support this keeps the message, and the attempt is not repeated.
    private func remove(
        _ message: SinkMessage,
        on loop: isolated EventLoop,
        _ completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        guard let request = message.removal(), let policy = settings.addresses(beside: gateway) else {
            return completion(.accepted(status: nil))
        }
        transport.send(request, allowed: policy, on: loop) { outcome in
            var outcome = outcome
            if case .failed(let status?, _, _) = outcome, [400, 404, 405, 410].contains(status) {
                outcome = .accepted(status: status)
            }
            completion(outcome)
        }
    }

    // MARK: Buttons

    /// Makes one-tap links for a pending approval.
    private func makeButtons(
        _ one: Notification,
        _ approval: Approval,
        for sink: NotificationSink,
        on loop: isolated EventLoop
    ) async -> [SinkMessage.Button] {
        // A link shows the question to whoever opens it, so it goes where the question itself goes.
        guard settings.hasApprovalLinks, let base = settings.publicURL, sink.kind == .ntfy, sink.detail == .detailed,
            let decisions = one.approval?.decisions
        else { return [] }
        if let known = buttons[approval.id] { return known }
        var made: [SinkMessage.Button] = []
        for (label, decision) in [("Allow once", Approval.Decision.allowOnce), ("Deny", .deny)] {
            guard decisions.contains(decision.rawValue), approval.decisions.contains(decision),
                let secret = try? await links.make(approval, decision, by: "notification", token: nil, on: loop)
            else { continue }
            let url = "\(base)/v1/act/\(secret.reveal())"
            made.append(SinkMessage.Button(label: label, url: url, isGrant: decision != .deny))
        }
        if buttons.count >= Self.mostButtons { buttons = [:] }
        buttons[approval.id] = made
        return made
    }
}
