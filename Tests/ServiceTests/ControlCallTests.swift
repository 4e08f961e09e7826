import EventLoops
import Gateway
import Ledger
import Observability
import Testing

@testable import Service

struct ControlCallTests {
    private func fault(_ bench: ServiceBench, on loop: isolated EventLoop) async throws -> GatewayFault? {
        var fault: GatewayFault?
        bench.gateway.control(ExecApprovalList(), needing: .approvalsPending, on: loop) { result in
            if case .failure(let found) = result { fault = found }
        }
        try await bench.settle(on: loop)
        return fault
    }

    @Test func `without a link nothing is sent, and nothing is kept for later`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["exec.approval.list"], on: loop)
            try await bench.drop(on: loop)
            guard case .notConnected? = try await fault(bench, on: loop) else { return #expect(Bool(false)) }
            #expect(bench.gateway.status.features.isEmpty)
        }
    }

    @Test func `a method that the hello does not list is never sent`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["sessions.patch"], on: loop)
            bench.gateway.next("exec.approval.list", refused("INVALID_REQUEST", "missing scope: operator.admin"))
            guard case .unsupported("approvals.pending", "2026.4", _)? = try await fault(bench, on: loop) else {
                return #expect(Bool(false))
            }
            #expect(bench.gateway.requests("exec.approval.list").isEmpty)
        }
    }

    @Test func `a missing scope is told with what it is missing for`() async throws {
        try await withServices { bench, loop in
            try await bench.open(methods: ["exec.approval.list"], on: loop)
            bench.gateway.next(
                "exec.approval.list",
                refused("INVALID_REQUEST", "missing scope: operator.approvals"),
                refused("INVALID_REQUEST", "unknown method: exec.approval.list")
            )
            let first = try await fault(bench, on: loop)
            guard case .missingScope("operator.approvals", _, _, "approvals.pending")? = first else {
                return #expect(Bool(false), "\(first as Any)")
            }
            guard case .unsupported("approvals.pending", "2026.4", _)? = try await fault(bench, on: loop) else {
                return #expect(Bool(false))
            }
        }
    }
}
