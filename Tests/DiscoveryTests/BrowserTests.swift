import Basics
import Dispatch
import POSIX
import Synchronization
import TestSupport
import Testing

@testable import Discovery

/// A responder on a loopback socket, in a thread of its own. The script turns each question into an answer.
private final class FakeResponder: Sendable {
    private struct Shared: @unchecked Sendable {
        // Only the serving thread receives; shutdown and the port are safe from any thread.
        let socket: BlockingSocket
    }

    private let shared: Shared
    let port: UInt16
    private let asked = Mutex<[DNSQuestion]>([])

    init(_ address: NetworkAddress = .loopback4, _ answer: @escaping @Sendable (DNSMessage) -> [[UInt8]]) throws {
        let shared = Shared(socket: try BlockingSocket.udp(address))
        self.shared = shared
        port = shared.socket.port
        DispatchQueue(label: "far end").async { [weak self] in
            while let datagram = try? shared.socket.receiveDatagram() {
                guard let message = try? DNSMessage(parsing: datagram.bytes) else { return }
                guard let self else { return }
                self.asked.withLock { $0 += message.questions }
                for bytes in answer(message) {
                    try? shared.socket.sendDatagram(bytes, to: datagram.from, port: datagram.port)
                }
            }
        }
    }

    var questions: [DNSQuestion] { asked.withLock { $0 } }

    deinit {
        // Wakes the thread: an empty datagram is not a message.
        try? shared.socket.sendDatagram([], to: .loopback4, port: port)
    }
}

@Suite(.serialized)
struct BrowserTests {
    static let loopback = NetworkInterface(name: "lo", index: 0, address: .loopback4)

    static func records(_ question: DNSQuestion, instance: String = "box", domain: String = "local") -> [DNSRecord] {
        func name(_ text: String) -> DNSName { DNSName(text) ?? DNSName(labels: []) }
        let type = name("_openclaw-gw._tcp.\(domain)")
        let full = name("\(instance)._openclaw-gw._tcp.\(domain)")
        let host = name("host.\(domain)")
        let all: [(DNSType, DNSRecord)] = [
            (.ptr, DNSRecord(name: type, data: .pointer(full))),
            (.srv, DNSRecord(name: full, data: .service(priority: 0, weight: 0, port: 18789, target: host))),
            (.txt, DNSRecord(name: full, data: .text([Array("displayName=Kitchen".utf8)]))),
            (.a, DNSRecord(name: host, data: .address(NetworkAddress(v4: 192, 0, 2, 5)))),
            (.aaaa, DNSRecord(name: host, data: .address(NetworkAddress(high: 0x2001_0DB8_0000_0000, low: 5)))),
        ]
        return all.filter { $0.0 == question.type && $0.1.name == question.name }.map(\.1)
    }

    @Test func `a gateway on the network is found by following its records`() throws {
        let responder = try FakeResponder { query in
            let records = query.questions.flatMap { Self.records($0) }
            return [[1, 2, 3], DNSMessage(isResponse: true, records: records).bytes]
        }
        let browser = MulticastBrowser(
            destinations: [.init(address: .loopback4, port: responder.port)],
            interfaces: [Self.loopback]
        )
        let found = browser.browse(milliseconds: 60_000) { !$0.isEmpty }
        #expect(found.map(\.url) == ["ws://192.0.2.5:18789"])
        #expect(found.first?.displayName == "Kitchen")
        #expect(found.first?.addresses.count == 2)
        #expect(Set(responder.questions.map(\.type)) == [.ptr, .srv, .txt, .a, .aaaa])
    }

    @Test func `answers from another port than was asked are noise`() throws {
        let answer = try DNSMessageTests.sample().bytes
        let browser = MulticastBrowser(destinations: [.init(address: .loopback4, port: 5353)], interfaces: [])
        for (port, count) in [(UInt16(5353), 1), (5354, 0), (0, 0)] {
            var browse = try #require(GatewayBrowse())
            browser.receive(answer, from: port, into: &browse)
            #expect(browse.gateways.count == count)
        }
    }

    @Test func `without interfaces there is nobody to ask`() {
        #expect(MulticastBrowser(interfaces: []).browse(milliseconds: 10_000).isEmpty)
    }

    @Test func `a domain is browsed through its name server`() throws {
        let server = try FakeResponder { query in
            let records = query.questions.flatMap { Self.records($0, domain: "claw.example") }
            var answer = DNSMessage(id: query.id, isResponse: true, questions: query.questions, records: records)
            answer.wantsRecursion = true
            var forged = answer
            forged.id &+= 1
            forged.records = []
            return [forged.bytes, answer.bytes]
        }
        let browser = DomainBrowser(
            domain: "claw.example.",
            servers: [DNSServer(address: .loopback4, port: server.port)]
        )
        let found = try browser.browse()
        #expect(found.map(\.url) == ["ws://192.0.2.5:18789"])
        #expect(found.first?.source == .domain("claw.example"))
    }

    @Test func `a name that does not exist is told from silence`() throws {
        let server = try FakeResponder { query in
            [DNSMessage(id: query.id, isResponse: true, code: 3, questions: query.questions).bytes]
        }
        let refused = DomainBrowser(
            domain: "none.example",
            servers: [DNSServer(address: .loopback4, port: server.port)]
        )
        #expect(throws: DomainBrowser.Failure.refused(code: 3)) { try refused.browse() }
        let silent = try FakeResponder { _ in [] }
        let mute = DomainBrowser(domain: "none.example", servers: [DNSServer(address: .loopback4, port: silent.port)])
        #expect(throws: DomainBrowser.Failure.noAnswer) { try mute.browse(milliseconds: 200) }
        #expect(throws: DomainBrowser.Failure.invalidDomain("a..b")) {
            try DomainBrowser(domain: "a..b", servers: []).browse()
        }
    }

    @Test func `a truncated answer is asked for again over TCP`() throws {
        let listener = try BlockingSocket.listen(.loopback4)
        let server = DNSServer(address: .loopback4, port: listener.port)
        let query = DNSMessage(id: 9, questions: [DNSQuestion(name: GatewayBrowseTests.type, type: .ptr)])
        struct Shared: @unchecked Sendable {
            // Given to a single thread.
            let socket: BlockingSocket
        }
        let shared = Shared(socket: listener)
        let done = DispatchSemaphore(value: 0)
        DispatchQueue(label: "far end").async {
            defer { done.signal() }
            guard let peer = try? shared.socket.accept() else { return }
            var received: [UInt8] = []
            while received.count < query.bytes.count + 2, let more = try? peer.receive(), !more.isEmpty {
                received += more
            }
            let answer = DNSMessage(id: 9, isResponse: true, questions: query.questions).bytes
            for byte in [UInt8(answer.count >> 8), UInt8(answer.count & 0xFF)] + answer { try? peer.send([byte]) }
        }
        let bytes = try #require(
            DatagramSocket.askOverTCP(query.bytes, server: server.address, port: server.port, milliseconds: 5000)
        )
        done.wait()
        #expect(DomainBrowser.answer(bytes, to: query) != nil)
        listener.close()
        #expect(
            DatagramSocket.askOverTCP(query.bytes, server: server.address, port: server.port, milliseconds: 500) == nil
        )
    }

    @Test func `an answer to another question, or to no question, is not taken`() {
        let query = DNSMessage(id: 9, questions: [DNSQuestion(name: GatewayBrowseTests.type, type: .ptr)])
        func taken(_ change: (inout DNSMessage) -> Void) -> Bool {
            var answer = DNSMessage(id: 9, isResponse: true, questions: query.questions)
            change(&answer)
            return DomainBrowser.answer(answer.bytes, to: query) != nil
        }
        #expect(taken { _ in })
        #expect(!taken { $0.id = 8 })
        #expect(!taken { $0.isResponse = false })
        #expect(!taken { $0.questions = [] })
        #expect(!taken { $0.questions = [DNSQuestion(name: GatewayBrowseTests.type, type: .srv)] })
    }

    @Test func `name servers are read from the system's file`() {
        let text =
            "# c\nnameserver 192.0.2.1\n nameserver\t2001:db8::1\nnameserver fe80::1%eth0\nnameserver x\nsearch a\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n"
        #expect(
            DNSServer.parse(Array(text.utf8)).map(\.address.description) == ["192.0.2.1", "2001:db8::1", "192.0.2.2"]
        )
        #expect(DNSServer.parse([]).isEmpty)
        #expect(!DNSServer.system().isEmpty)
    }

    @Test func `the host's own addresses are listed`() {
        let all = NetworkInterface.all()
        #expect(all.contains { $0.isLoopback && $0.address == .loopback4 && $0.isUp && $0.index > 0 })
    }

    @Test func `tailnet addresses are the tunnel's where one is marked`() {
        func entry(_ name: String, _ text: String, up: Bool = true) -> NetworkInterface {
            NetworkInterface(name: name, index: 1, address: NetworkAddress(text) ?? .loopback4, isUp: up)
        }
        func found(_ entries: NetworkInterface...) -> [String] {
            NetworkInterface.tailnetAddresses(entries).map(\.description)
        }
        #expect(found(entry("eth0", "192.0.2.1")) == [])
        #expect(
            found(entry("tailscale0", "fd7a:115c:a1e0::5"), entry("tailscale0", "100.64.0.5")) == [
                "100.64.0.5", "fd7a:115c:a1e0::5",
            ]
        )
        #expect(found(entry("eth0", "100.70.0.1"), entry("tailscale0", "100.64.0.5")) == ["100.64.0.5"])
        #expect(
            found(entry("utun3", "100.64.0.5"), entry("utun3", "fd7a:115c:a1e0::5"), entry("en0", "100.70.0.1")) == [
                "100.64.0.5", "fd7a:115c:a1e0::5",
            ]
        )
        #expect(found(entry("eth0", "100.70.0.1")) == ["100.70.0.1"])
        #expect(found(entry("tailscale0", "100.64.0.5", up: false)) == [])
    }
}
