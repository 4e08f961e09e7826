import JSONBytes
import TestSupport
import Testing

/// Messages through a gateway that fails at the worst moments, over real sockets.
@Suite(.serialized) struct GatewayFaultTests {
    private static let text = ["Content-Type: text/plain"]

    /// The gateway writes the user's row at the start of the run, as the newest releases do.
    private static func gateway(_ options: [String] = []) throws -> GatewayProcess {
        try GatewayProcess(["--store-user-row"] + options)
    }

    @Test(arguments: ["ackThenClose", "closeBeforeAck", "doubleAck"])
    func `a message runs once whatever becomes of its acknowledgement`(fault: String) async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([(fault, "1")])
        let id = try ladle.send("one")
        let next = try ladle.send("two")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry["proof"]?.string != nil)
        #expect(entry["attempts"]?[0]?["class"]?.string == (fault == "closeBeforeAck" ? "ambiguous" : "accepted"))
        try ladle.entry(next, becomes: "delivered")
        #expect(try gateway.accepted().map(\.text) == ["one", "two"])
    }
}
