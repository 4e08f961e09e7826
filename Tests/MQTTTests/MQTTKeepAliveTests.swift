import Testing

@testable import MQTT

struct MQTTKeepAliveTests {
    @Test func `a silent connection is pinged, and lives while answers come`() {
        var script = MQTTScript.online { $0.keepAliveSeconds = 30 }
        for _ in 0..<5 {
            #expect(script.pass(seconds: 29).isEmpty)
            #expect(script.sent().isEmpty)
            #expect(script.pass(seconds: 1).isEmpty)
            #expect(script.sent() == [.pingreq])
            #expect(script.pass(seconds: 9).isEmpty)
            #expect(script.broker(.pingresp).isEmpty)
            // The next ping is due 30 seconds after ours, which was nine seconds ago.
            #expect(script.pass(seconds: 20).isEmpty)
            #expect(script.sent().isEmpty)
            #expect(script.pass(seconds: 1).isEmpty)
            #expect(script.sent() == [.pingreq])
            #expect(script.broker(.pingresp).isEmpty)
        }
    }

    @Test func `publishing does not hide a dead connection`() throws {
        var script = MQTTScript.online { $0.keepAliveSeconds = 30 }
        var events: [MQTTEvent] = []
        var seconds = 0
        while events.isEmpty, seconds < 100 {
            try script.publish(qos: .atMostOnce)
            events = script.pass(seconds: 1)
            seconds += 1
        }
        #expect(events.end?.cause == .timedOut(.ping))
        #expect(seconds == 40)
    }

    @Test func `receiving does not replace the pings that the broker wants`() {
        var script = MQTTScript.online { $0.keepAliveSeconds = 30 }
        let message = MQTTPacket.publish(MQTTPublish(MQTTMessage(topic: "a", payload: [], qos: .atMostOnce)))
        for _ in 0..<35 {
            _ = script.broker(message)
            #expect(script.pass(seconds: 1).isEmpty)
        }
        #expect(script.sent() == [.pingreq])
    }

    @Test func `any packet answers a ping`() {
        var script = MQTTScript.online { $0.keepAliveSeconds = 10 }
        _ = script.pass(seconds: 19)
        _ = script.broker(.publish(MQTTPublish(MQTTMessage(topic: "a", payload: [], qos: .atMostOnce))))
        #expect(script.pass(seconds: 5).isEmpty)
        #expect(script.client.isOnline)
    }

    @Test func `a server keep alive of one second is kept, also while an answer is late`() {
        var script = MQTTScript.online(.v5, [(.serverKeepAlive, .two(1))])
        #expect(script.client.limits?.keepAliveSeconds == 1)
        #expect(script.pass(seconds: 5).isEmpty)
        #expect(script.sent() == Array(repeating: .pingreq, count: 5))
        #expect(script.pass(seconds: 6).end?.cause == .timedOut(.ping))
    }

    @Test func `a broker that wants no keep alive does not make us blind`() {
        #expect(MQTTScript.online(.v5, [(.serverKeepAlive, .two(0))]).client.limits?.keepAliveSeconds == 60)
        #expect(MQTTScript.online(.v5, [(.serverKeepAlive, .two(600))]).client.limits?.keepAliveSeconds == 60)
        var script = MQTTScript.online { $0.keepAliveSeconds = 0 }
        #expect(script.client.nextDeadline == nil)
        #expect(script.pass(seconds: 100_000).isEmpty)
    }

    @Test func `a broker that answers and acknowledges nothing stalls, which is told once`() throws {
        var script = MQTTScript.online { $0.keepAliveSeconds = 600 }
        try script.publish()
        #expect(script.pass(seconds: 59).isEmpty)
        _ = script.sent()
        // Whether the broker lives at all is not known yet.
        #expect(script.pass(seconds: 1).isEmpty)
        #expect(script.sent() == [.pingreq])
        #expect(script.broker(.pingresp) == [.stalled])
        #expect(script.pass(seconds: 200).isEmpty)
        #expect(script.broker(.pingresp).isEmpty)
        #expect(script.client.isOnline)
    }

    @Test func `a dead broker does not stall, and one that acknowledges something does not either`() throws {
        var script = MQTTScript.online { $0.keepAliveSeconds = 600 }
        try script.publish()
        #expect(script.pass(seconds: 80).end?.cause == .timedOut(.ping))

        script = .online { $0.keepAliveSeconds = 600 }
        for identifier in 1...5 as ClosedRange<UInt16> {
            try script.publish("x", UInt64(identifier))
            try script.publish("x", UInt64(identifier) + 100)
            #expect(script.pass(seconds: 50).isEmpty)
            _ = script.broker(.puback(MQTTPuback(identifier)))
        }
        #expect(script.sent().contains(.pingreq) == false)
    }

    @Test func `the end of time does not trap`() throws {
        var script = MQTTScript.online()
        script.now = .max
        try script.publish()
        _ = script.client.tick(now: .max)
        _ = script.raw([0x30])
        _ = script.client.tick(now: .min)
        _ = script.client.nextDeadline
    }
}
