import Basics
import EventLoops
import Notifications
import Service
import Synchronization

/// Sinks that answer as a test says, and remember their requests.
final class ScriptedSinks: SinkTransport {
    /// Shared by the processes of one test.
    final class Inbox: Sendable {
        private let state = Mutex<(requests: [SinkRequest], commands: [SinkCommand])>(([], []))
        private let next = Mutex<DeliveryMachine.Outcome?>(.accepted(status: 204))

        var requests: [SinkRequest] { state.withLock { $0.requests } }
        var commands: [SinkCommand] { state.withLock { $0.commands } }
        var outcome: DeliveryMachine.Outcome? { next.withLock { $0 } }
        /// - Parameter outcome: the outcome of all further requests; nil leaves them without an answer.
        func answer(_ outcome: DeliveryMachine.Outcome?) { next.withLock { $0 = outcome } }
        func note(_ request: SinkRequest) { state.withLock { $0.requests.append(request) } }
        func note(_ command: SinkCommand) { state.withLock { $0.commands.append(command) } }
    }

    private let inbox: Inbox

    init(_ inbox: Inbox) { self.inbox = inbox }

    func send(
        _ request: SinkRequest,
        allowed policy: AddressPolicy,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        inbox.note(request)
        guard let outcome = inbox.outcome else { return }
        _ = loop.after(milliseconds: 0) { completion(outcome) }
    }

    func run(
        _ command: SinkCommand,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome, [UInt8]) -> Void
    ) {
        inbox.note(command)
        guard let outcome = inbox.outcome else { return }
        _ = loop.after(milliseconds: 0) { completion(outcome, []) }
    }
}
