import Testing

@testable import Broker

struct BrokerAddressTests {
    static let good: [(String, String)] = [
        ("mqtt://Broker", "mqtt://broker:1883"), ("tcp://10.0.0.1:1884/", "mqtt://10.0.0.1:1884"),
        ("mqtts://[fd7a::1]", "mqtts://[fd7a::1]:8883"), ("ssl://h:1", "mqtts://h:1"),
        ("ws://h", "ws://h:80/mqtt"), ("wss://h/", "wss://h:443/mqtt"),
        ("wss://h:8084/mqtt/v1", "wss://h:8084/mqtt/v1"),
        ("WSS://[::1]:9001/ws", "wss://[::1]:9001/ws"),
    ]

    @Test(arguments: good) func `an address is read and shown`(text: String, shown: String) throws {
        #expect(try BrokerAddress(text).description == shown)
        #expect(try BrokerAddress(shown) == BrokerAddress(text))
    }

    static let bad: [(String, BrokerAddress.Problem)] = [
        ("h:1883", .scheme), ("http://h", .scheme), ("mqtt://u:p@h", .credentials), ("wss://u@h/mqtt", .credentials),
        ("ws://u:p/w@h/mqtt", .credentials), ("mqtt://u:p/w@h", .credentials),
        ("mqtt://h/mqtt", .path), ("wss://h/mqtt?token=x", .path), ("ws://h/a b", .path), ("ws://h/\r\nX: y", .path),
        ("wss://h#x", .path), ("wss://h/\(String(repeating: "a", count: 300))", .path), ("mqtt://", .malformed),
        ("mqtt://h:0", .malformed), ("ws://h:99999", .malformed), ("mqtt://h:1:2", .malformed),
        ("ws://[h]", .malformed),
    ]

    @Test(arguments: bad) func `a mistake is named`(text: String, problem: BrokerAddress.Problem) {
        #expect(throws: problem) { _ = try BrokerAddress(text) }
    }
}
