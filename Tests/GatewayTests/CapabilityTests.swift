import Gateway
import JSONBytes
import TestSupport
import Testing

struct CapabilityTests {
    private func hello(_ methods: [String], version: Int = 4) throws -> Hello {
        let list = methods.map { "\"\($0)\"" }.joined(separator: ",")
        let text = #"{"type":"hello-ok","protocol":\#(version),"features":{"methods":[\#(list)]}}"#
        return try #require(Hello(try JSONDocument(parsing: Array(text.utf8)).root, requested: []))
    }

    private func recorded(_ release: String) throws -> Hello {
        let recorded = try #require(try TestData.document("gateway-methods.json")[release])
        let methods = try #require(recorded["methods"]).elements.compactMap(\.string)
        return try hello(methods, version: Int(recorded["protocol"]?.int ?? 0))
    }

    @Test func `recorded gateways can do what their releases have`() throws {
        let march = try recorded("2026.3.1")
        for capability in [Capability.approvals, .sessionsPatch, .sessionsCreate, .sessionsReset, .models, .usageCost] {
            #expect(capability.works(with: march), "\(capability)")
        }
        for capability in [Capability.approvalsPending, .eventsSessions, .artifacts, .speech, .questions] {
            #expect(!capability.works(with: march), "\(capability)")
        }
        let june = try recorded("2026.6.11")
        for capability in [Capability.approvalsPending, .eventsSessions, .artifacts, .speech, .nodesInvoke] {
            #expect(capability.works(with: june), "\(capability)")
        }
        for capability in [Capability.questions, .approvalsHistory, .sessionsArchive] {
            #expect(!capability.works(with: june), "\(capability)")
        }
    }

    @Test func `methods that gateways answer and do not list count`() throws {
        #expect(Capability.usageSessions.works(with: try hello([])))
        #expect(!Capability.usageCost.works(with: try hello([])))
    }

    @Test func `names are sorted, and of what Ladle has routes for`() throws {
        let all = try hello(Capability.allCases.flatMap(\.methods))
        let names = Capability.names(with: all)
        #expect(names == names.sorted() && Set(names).count == names.count)
        #expect(names == Capability.allCases.filter(\.isServed).map(\.rawValue).sorted())
        #expect(Capability.names(with: nil).isEmpty)
    }
}
