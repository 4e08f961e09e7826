import Basics
import POSIX

/// Unicast DNS-SD (RFC 6763) in one domain, through the system's resolvers or named ones.
package struct DomainBrowser {
    private let domain: String
    private let servers: [DNSServer]

    package enum Failure: Error, Equatable, Sendable {
        case invalidDomain(String)
        /// No server answered in time.
        case noAnswer
        /// A server answered with this response code (RFC 1035 §4.1.1); 3 is "no such name".
        case refused(code: UInt8)
    }

    /// A chain of questions has four steps; a server that causes more would lead the browser on without end.
    private static let mostRounds = 6

    package init(domain: String, servers: [DNSServer] = DNSServer.system()) {
        self.domain = domain.hasSuffix(".") ? String(domain.dropLast()) : domain
        self.servers = servers
    }

    package func browse(
        for service: AnnouncedService = .gateway,
        milliseconds: Int64 = 5000
    ) throws(Failure) -> [DiscoveredGateway] {
        guard !domain.isEmpty, var browse = GatewayBrowse(for: service, domain: domain) else {
            throw .invalidDomain(domain)
        }
        let deadline = HostClock.monotonicMilliseconds + milliseconds
        var asked: Set<DNSQuestion> = []
        var gotAnswer = false
        for _ in 0..<Self.mostRounds {
            let fresh = browse.questions.filter { asked.insert($0).inserted }
            if fresh.isEmpty { break }
            for question in fresh {
                guard let answer = ask(question, deadline: deadline) else { continue }
                if question.type == .ptr, answer.code != 0 { throw .refused(code: answer.code) }
                gotAnswer = true
                browse.receive(answer)
            }
        }
        guard gotAnswer else { throw .noAnswer }
        return browse.gateways
    }

    /// Sends one question per message, as resolvers require; each server is asked up to twice, in turn.
    private func ask(_ question: DNSQuestion, deadline: Int64) -> DNSMessage? {
        for _ in 0..<2 {
            for server in servers {
                let left = deadline - HostClock.monotonicMilliseconds
                guard left > 0 else { return nil }
                if let answer = ask(question, server, milliseconds: min(left, 1500)) { return answer }
            }
        }
        return nil
    }

    private func ask(_ question: DNSQuestion, _ server: DNSServer, milliseconds: Int64) -> DNSMessage? {
        // Each question has its own socket, because a random port makes forging an answer hard.
        let socket = try? DatagramSocket(isIPv6: !server.address.isIPv4, interface: nil)
        guard let socket else { return nil }
        var generator = SystemRandomNumberGenerator()
        let query = DNSMessage(id: generator.next(), wantsRecursion: true, questions: [question])
        socket.send(query.bytes, to: server.address, port: server.port)
        let deadline = HostClock.monotonicMilliseconds + milliseconds
        while true {
            let left = deadline - HostClock.monotonicMilliseconds
            guard left > 0 else { return nil }
            guard !DatagramSocket.wait([socket], milliseconds: left).isEmpty else { continue }
            while let datagram = socket.receive() {
                guard datagram.from == server.address, datagram.port == server.port,
                    let message = Self.answer(datagram.bytes, to: query)
                else { continue }
                guard message.isTruncated else { return message }
                let whole = DatagramSocket.askOverTCP(
                    query.bytes,
                    server: server.address,
                    port: server.port,
                    milliseconds: max(left, 500)
                )
                return whole.flatMap { Self.answer($0, to: query) } ?? message
            }
        }
    }

    static func answer(_ bytes: [UInt8], to query: DNSMessage) -> DNSMessage? {
        guard let message = try? DNSMessage(parsing: bytes), message.isResponse, message.id == query.id,
            message.questions == query.questions
        else { return nil }
        return message
    }
}
