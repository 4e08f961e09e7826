import Testing

@testable import MQTT

struct MQTTClientTests {
    @Test func `a connection subscribes behind CONNACK, also in a kept session, and reports the grants`() {
        let subscriptions = [MQTTSubscription("p/send"), MQTTSubscription("p/cmd/#")]
        var script = MQTTScript(MQTTScript.settings { $0.subscriptions = subscriptions })
        #expect(script.client.nextDeadline == nil)
        #expect(script.client.opened(now: script.now).isEmpty)
        #expect(script.sent().map(\.type) == [1])
        let properties = MQTTProperties([
            (.assignedClientIdentifier, .text("given")), (.reasonString, .text("hello\u{1B}[31m\nyou")),
        ])
        let events = script.broker(.connack(MQTTConnack(isSessionPresent: true, properties: properties)))
        guard case .connected(let connected) = events.first else { return #expect(Bool(false), "no CONNACK") }
        #expect(connected.isSessionPresent && connected.clientID == "given")
        #expect(connected.text == "hello[31m you")
        #expect(script.sent() == [.subscribe(MQTTSubscribe(1, subscriptions))])
        #expect(
            script.broker(.suback(MQTTSuback(1, [MQTTReason(1), .notAuthorized]))) == [
                .subscribed([
                    MQTTGrant(filter: "p/send", reason: MQTTReason(1)),
                    MQTTGrant(filter: "p/cmd/#", reason: .notAuthorized),
                ])
            ]
        )
        #expect(script.client.isOnline)
    }

    @Test(
        arguments: [
            ([0x20, 3, 0, 0x84, 0], MQTTReason.Kind.version), ([0x20, 2, 0, 1], .version), ([0x20, 2, 0, 0], .version),
            ([0x20, 3, 0, 0x87, 0], .authentication), ([0x20, 2, 0, 5], .authentication),
            ([0x20, 3, 0, 0x89, 0], .unavailable), ([0x20, 3, 0, 0x8A, 0], .banned), ([0x20, 3, 0, 0x9D, 0], .moved),
        ] as [([UInt8], MQTTReason.Kind)]
    )
    func `a refusal tells its kind, also in the form of 3 1 1`(_ bytes: [UInt8], _ kind: MQTTReason.Kind) {
        var script = MQTTScript(MQTTScript.settings())
        _ = script.client.opened(now: script.now)
        let end = script.raw(bytes).end
        #expect(end?.cause == .refused)
        #expect(end?.reason?.kind == kind)
        #expect(end?.isVersionRefused == (kind == .version))
        #expect(end?.wasConnected == false)
        #expect(script.client.nextDeadline == nil)
    }

    @Test func `the codes of 3 1 1 become those of 5`() {
        let codes = (1...5).map { MQTTReason(connack: UInt8($0)).code }
        #expect(codes == [0x84, 0x85, 0x88, 0x86, 0x87])
    }

    @Test func `reasons that a client treats alike are one kind`() {
        let kinds: [(MQTTReason.Kind, [UInt8])] = [
            (.success, [0, 1, 2, 0x10]), (.authentication, [0x86, 0x87, 0x8C]), (.version, [0x84]),
            (.takenOver, [0x8E]), (.unavailable, [0x88, 0x89, 0x8B, 0x8D]), (.quota, [0x96, 0x97, 0x9F]),
            (.tooLarge, [0x95]), (.ourFault, [0x81, 0x82, 0x85, 0x8F, 0x90, 0x93, 0x99]), (.banned, [0x8A, 0x98]),
            (.moved, [0x9C, 0x9D]), (.notSupported, [0x9A, 0x9B, 0xA2]), (.other, [0x80, 0x83, 0xFF]),
        ]
        for (kind, codes) in kinds {
            for code in codes { #expect(MQTTReason(code).kind == kind, "\(code)") }
        }
        #expect(MQTTReason(0x97).words == "quota exceeded")
        #expect(MQTTReason(0xFE).words == "reason code 254")
    }

    @Test func `every wait for the broker ends`() {
        var script = MQTTScript(MQTTScript.settings { $0.subscriptions = [MQTTSubscription("a")] })
        _ = script.client.opened(now: script.now)
        #expect(script.pass(seconds: 9).isEmpty)
        #expect(script.pass(seconds: 1).end?.cause == .timedOut(.connack))

        script = .online(.v5, []) { $0.subscriptions = [MQTTSubscription("a")] }
        #expect(script.pass(seconds: 10).end?.cause == .timedOut(.suback))
        #expect(script.client.isOnline == false)

        // A packet that never ends, one byte each five seconds.
        script = .online()
        var events = script.raw([0x30, 0x7F])
        for _ in 0..<11 { events += script.pass(seconds: 5) + script.raw([1]) }
        #expect(events.isEmpty)
        #expect(script.pass(seconds: 5).end?.cause == .timedOut(.packet))
    }

    @Test(arguments: [MQTTVersion.v5, .v311])
    func `what an earlier configuration subscribed to in a kept session is ended`(_ version: MQTTVersion) throws {
        let settings = MQTTScript.settings(version) {
            $0.subscriptions = [MQTTSubscription("a")]
            $0.unwantedFilters = ["b", "c/#"]
        }
        for isKept in [true, false] {
            var script = MQTTScript(settings)
            _ = script.client.opened(now: script.now)
            _ = script.sent()
            _ = script.broker(.connack(MQTTConnack(isSessionPresent: isKept)))
            let sent = script.sent()
            let ended = sent.compactMap { packet -> MQTTUnsubscribe? in
                if case .unsubscribe(let unsubscribe) = packet { unsubscribe } else { nil }
            }
            #expect(ended.map(\.filters) == (isKept ? [["b", "c/#"]] : []))
            guard let ended = ended.first else { continue }
            // Neither the subscription nor a message has its identifier.
            #expect(
                sent.contains { if case .subscribe(let one) = $0 { one.identifier != ended.identifier } else { false } }
            )
            _ = script.broker(.suback(MQTTSuback(2, [MQTTReason(1)])))
            _ = try script.client.publish(MQTTMessage(topic: "t", payload: []), token: 1, now: script.now)
            #expect(
                script.sent().allSatisfy {
                    if case .publish(let one) = $0 { one.identifier != ended.identifier } else { true }
                }
            )
            var silent = script
            #expect(silent.pass(seconds: 10).end?.cause == .timedOut(.unsuback))
            let reasons = version == .v5 ? [MQTTReason(0x11), .notAuthorized] : []
            #expect(script.broker(.unsuback(MQTTSuback(ended.identifier, reasons))).isEmpty)
            #expect(script.broker(.unsuback(MQTTSuback(ended.identifier, reasons))).end?.cause == .broken(.wrongAnswer))
        }
    }

    @Test func `a takeover ends with its code, once`() {
        var script = MQTTScript.online()
        let properties = MQTTProperties([(.reasonString, .text(String(repeating: "é", count: 500)))])
        let end = script.broker(.disconnect(MQTTDisconnect(.sessionTakenOver, properties: properties))).end
        #expect(end?.cause == .disconnected)
        #expect(end?.reason?.kind == .takenOver)
        #expect(end?.text.utf8.count == 200)
        #expect(end?.wasConnected == true)
        #expect(script.client.closed().isEmpty)
        #expect(script.broker(.pingresp).isEmpty)
        #expect(script.sent().isEmpty)
        #expect(throws: MQTTRefusal.notConnected) { try script.publish() }
    }

    @Test func `a bare close before CONNACK can be told from one behind it`() {
        var script = MQTTScript(MQTTScript.settings())
        _ = script.client.opened(now: script.now)
        #expect(script.client.closed().end?.wasConnected == false)
        script = .online()
        #expect(script.client.closed().end?.wasConnected == true)
    }

    @Test func `a broken packet is answered with its code in 5 and with nothing in 3 1 1`() {
        var script = MQTTScript.online()
        #expect(script.raw([0xD0, 0, 0xF0, 0]).end?.cause == .broken(.unexpectedPacket(type: 15)))
        #expect(script.sent() == [.disconnect(MQTTDisconnect(.protocolError))])
        script = .online(.v311)
        #expect(script.raw([0xE0, 0]).end?.reason == .protocolError)
        #expect(script.sent().isEmpty)
    }

    @Test func `answers that nobody asked for break the protocol`() {
        var script = MQTTScript.online()
        #expect(script.broker(.connack(MQTTConnack())).end?.cause == .broken(.unexpectedPacket(type: 2)))
        script = .online()
        #expect(script.broker(.suback(MQTTSuback(1, [.success]))).end?.cause == .broken(.wrongAnswer))
        script = .online(.v5) { $0.subscriptions = [MQTTSubscription("a")] }
        #expect(script.broker(.suback(MQTTSuback(1, [.success, .success]))).end?.cause == .broken(.wrongAnswer))
        script = MQTTScript(MQTTScript.settings())
        _ = script.client.opened(now: script.now)
        #expect(script.broker(.pingresp).end?.cause == .broken(.unexpectedPacket(type: 13)))
    }

    @Test(arguments: [MQTTVersion.v5, .v311])
    func `a stop publishes a last message, then says good-bye`(_ version: MQTTVersion) throws {
        var script = MQTTScript.online(version) { $0.window = 1 }
        try script.publish()
        _ = script.sent()
        let offline = MQTTMessage(topic: "p/status", payload: [1], retain: true)
        #expect(script.client.stop(final: offline, now: script.now).end?.cause == .stopped)
        var last = offline
        last.qos = .atMostOnce
        #expect(script.sent() == [.publish(MQTTPublish(last)), .disconnect(MQTTDisconnect())])
        #expect(script.client.stop(now: script.now).isEmpty)
    }

    @Test func `settings that cannot be written end the connection at once`() {
        var script = MQTTScript(MQTTScript.settings { $0.username = "a\0" })
        #expect(script.client.opened(now: script.now).end?.cause == .unusableSettings(.textWithNUL))
        #expect(script.sent().isEmpty)
    }
}
