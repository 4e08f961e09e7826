import Basics
import Dispatch
import EventLoops
import POSIX
import Synchronization
import TestSupport
import Testing

@testable import Notifications
@testable import Outbound

/// The allowed targets of requests, and the result if nobody answers.
struct HTTPSenderTests {
    private func outcome(
        of text: String,
        allowed: [String] = [],
        isTrusted: Bool = false,
        permit: Permit? = nil,
        lookUps: [[String]]
    ) async throws -> [DeliveryMachine.Outcome] {
        let loop = try EventLoop(label: "test.outbound")
        loop.start()
        let left = Box(lookUps)
        let policy = try AddressPolicy(allowed: allowed)
        let request = SinkRequest(
            method: "POST",
            url: try SinkURL(text),
            fields: [],
            body: [],
            isTrusted: isTrusted
        )
        var outcomes: [DeliveryMachine.Outcome] = []
        for _ in lookUps {
            let outcome = await withCheckedContinuation { (done: CheckedContinuation<DeliveryMachine.Outcome, Never>) in
                loop.post { loop in
                    let sender = HTTPSender(permit: permit) { _, port, loop, completion in
                        let found = left.next().compactMap { SocketAddress(host: $0, port: port) }
                        loop.post { completion(found, $0) }
                    }
                    sender.send(request, allowed: policy, on: loop) { outcome in
                        withExtendedLifetime(sender) { done.resume(returning: outcome) }
                    }
                }
            }
            outcomes.append(outcome)
        }
        await loop.stop()
        return outcomes
    }

    private final class Box: Sendable {
        private let left: Mutex<[[String]]>
        init(_ all: [[String]]) { left = Mutex(all) }
        func next() -> [String] { left.withLock { $0.isEmpty ? [] : $0.removeFirst() } }
    }

    private static func error(_ outcome: DeliveryMachine.Outcome) -> String {
        if case .failed(_, let error, _) = outcome { error } else { "accepted" }
    }

    @Test func `a name that leads inside is refused at each try, whatever else it leads to`() async throws {
        let found = try await outcome(
            of: "https://hooks.example.org/",
            lookUps: [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::ffff:169.254.169.254"], []]
        )
        let refused = "the address is not allowed: "
        #expect(
            found.map(Self.error) == [
                refused + "loopback", refused + "private", refused + "link_local", "the name is not known",
            ]
        )
    }

    @Test func `literals are checked without a look-up, and plaintext goes to allowed hosts alone`() async throws {
        #expect(try await outcome(of: "https://[fd00::1]/", lookUps: [[]]).map(Self.error)[0].hasSuffix("private"))
        #expect(
            try await outcome(of: "http://example.org/", lookUps: [["93.184.216.34"]]).map(Self.error)[0].hasSuffix(
                "plaintext"
            )
        )
    }

    @Test func `the owner's configuration may name anything, and a closed port is told`() async throws {
        let found = try await outcome(
            of: "http://inside.example:1/",
            isTrusted: true,
            lookUps: [["127.0.0.1", "127.0.0.2"]]
        )
        #expect(!Self.error(found[0]).contains("not allowed") && Self.error(found[0]) != "accepted")
        let allowed = try await outcome(
            of: "http://inside.example:1/",
            allowed: ["inside.example"],
            lookUps: [["127.0.0.1"]]
        )
        #expect(!Self.error(allowed[0]).contains("not allowed"))
    }

    // MARK: Connections

    /// A reset of a plain connection may come behind the request. One inside the handshake comes before it.
    @Test(arguments: [("https", 2), ("http", 1)])
    func `a reset inside the TLS handshake leads to the name's next address`(scheme: String, tries: Int) async throws {
        let server = try ResettingServer()
        let found = try await outcome(
            of: "\(scheme)://inside.example:\(server.port)/",
            isTrusted: true,
            lookUps: [["127.0.0.1", "127.0.0.1"]]
        )
        #expect(Self.error(found[0]) != "accepted")
        #expect(server.spoken == tries)
    }

    @Test func `a host whose permit has ended sends nothing and begins no program`() async throws {
        let ended = Permit(marginMs: 1_000)
        let server = try ResettingServer()
        let found = try await outcome(
            of: "http://inside.example:\(server.port)/",
            isTrusted: true,
            permit: ended,
            lookUps: [["127.0.0.1"]]
        )
        #expect(Self.error(found[0]) != "accepted")
        #expect(server.spoken == 0)
        let loop = try EventLoop(label: "test.programs")
        loop.start()
        let command = SinkCommand(arguments: ["/bin/echo", "x"], environment: [], input: [])
        let (outcome, output) = await withCheckedContinuation {
            (done: CheckedContinuation<(DeliveryMachine.Outcome, [UInt8]), Never>) in
            loop.post { loop in
                let runner = ProgramRunner(permit: ended)
                runner.run(command, on: loop) { outcome, output in
                    withExtendedLifetime(runner) { done.resume(returning: (outcome, output)) }
                }
            }
        }
        #expect(Self.error(outcome) == "this host has lost the lease" && output.isEmpty)
        await loop.stop()
    }
}

/// Resets each connection behind its first byte: what was not read makes the system send a reset.
private final class ResettingServer: Sendable {
    let port: UInt16
    private let count = Mutex(0)
    private let stop: @Sendable () -> Void

    /// The connections that brought a byte.
    var spoken: Int { count.withLock { $0 } }

    init() throws {
        let listener = AcceptingSocket(try BlockingSocket.listen(.loopback4))
        port = listener.socket.port
        stop = { listener.socket.shutdown() }
        DispatchQueue(label: "far end").async { [weak self] in
            while let peer = try? listener.socket.accept() {
                guard let bytes = try? peer.receive(1), !bytes.isEmpty else { continue }
                self?.count.withLock { $0 += 1 }
                peer.close()
            }
        }
    }

    deinit { stop() }
}
