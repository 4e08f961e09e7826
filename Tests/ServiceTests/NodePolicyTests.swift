import Testing

@testable import Service

struct NodePolicyTests {
    @Test func `harmless commands are done without a setting, private ones with it`() throws {
        let plain = NodePolicy.standard
        #expect(plain.permits("system.notify") && plain.permits("device.status") && plain.permits("canvas.navigate"))
        #expect(!plain.permits("location.get") && !plain.permits("camera.snap"))
        let named = try NodePolicy(allow: ["location.*", "motion.*", "camera.snap"])
        #expect(named.permits("location.get") && named.permits("motion.activity") && named.permits("camera.snap"))
        #expect(!named.permits("camera.clip") && !named.permits("contacts.search"))
        #expect(named.named == ["camera.snap", "location.get", "motion.activity", "motion.pedometer"])
    }

    @Test(arguments: [
        "camera.*", "*", ".*", "system.*", "system.run", "system.which", "system.execApprovals.get", "browser.open",
        "fs.read", "terminal.open", "computer.act", "desktop.stream", "mobile.ui.tap", "sms.send", "sms.search",
        "notifications.actions", "talk.ptt.start", "screen.*", "canvas.*", "location.get ", "LOCATION.GET",
        "location", "made.up", "", "camera.snap\u{0}", "calendar.add*",
    ])
    func `no setting lets these through`(_ entry: String) {
        #expect(throws: NodePolicy.Fault.self) { try NodePolicy(allow: [entry]) }
        #expect(!NodePolicy.standard.permits(entry))
    }

    @Test func `a family stands for its private reads alone`() throws {
        let policy = try NodePolicy(allow: ["contacts.*", "calendar.*", "notifications.*"])
        #expect(policy.named == ["calendar.events", "contacts.search", "notifications.list"])
        #expect(!policy.permits("contacts.add") && !policy.permits("notifications.actions"))
    }

    @Test(arguments: ["System.Run", "SYSTEM.NOTIFY", "sms.anything", "Browser.proxy"])
    func `letters of another case open no door`(_ command: String) {
        #expect(NodePolicy.kind(of: command) == .never && !NodePolicy.standard.permits(command))
    }
}
