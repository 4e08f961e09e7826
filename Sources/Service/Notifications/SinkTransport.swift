package import EventLoops
package import Notifications
package import Outbound

/// The transport to sinks: servers and programs in the running Ladle, a script in tests.
package protocol SinkTransport: AnyObject {
    /// - Parameter completion: comes once, on the loop.
    func send(
        _ request: SinkRequest,
        allowed policy: AddressPolicy,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    )

    /// - Parameter completion: gets the first part of the program's output, for the log.
    func run(
        _ command: SinkCommand,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome, [UInt8]) -> Void
    )
}

/// Sends over sockets, and runs programs of this host.
package final class OutboundTransport: SinkTransport {
    private let sender: HTTPSender
    private let programs: ProgramRunner

    package init(_ sender: HTTPSender = HTTPSender(), _ programs: ProgramRunner = ProgramRunner()) {
        (self.sender, self.programs) = (sender, programs)
    }

    package func send(
        _ request: SinkRequest,
        allowed policy: AddressPolicy,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome) -> Void
    ) {
        sender.send(request, allowed: policy, on: loop, completion: completion)
    }

    package func run(
        _ command: SinkCommand,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome, [UInt8]) -> Void
    ) {
        programs.run(command, on: loop, completion: completion)
    }
}
