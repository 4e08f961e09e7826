import Basics
import Gateway
import JSONBytes
import Runs

/// Properties of every approval, whatever a gateway sends. The fuzz driver uses it too.
enum ApprovalProof {
    static func approval(_ bytes: [UInt8], kind: ApprovalEvent.Kind) -> Approval? {
        guard let root = try? JSONDocument(parsing: bytes).root else { return nil }
        return Approval(
            ApprovalEvent(root, kind: kind),
            session: nil,
            commandSHA256: nil,
            now: Timestamp(milliseconds: 1_795_000_000_000)
        )
    }

    /// Nil where all is well.
    static func problem(with bytes: [UInt8]) -> String? {
        for kind in [ApprovalEvent.Kind.exec, .plugin] {
            guard let approval = approval(bytes, kind: kind) else { continue }
            var writer = JSONWriter()
            writer.value(approval)
            guard (try? JSONDocument(parsing: writer.bytes)) != nil else { return "it is not written as JSON" }
            let texts =
                [
                    approval.id, approval.agent ?? "", approval.cwd ?? "", approval.title, approval.command ?? "",
                    approval.explanation ?? "",
                ] + approval.warnings
            for text in texts where Printable.line(text) != text { return "a text is not plain" }
            if approval.isTruncated, approval.decisions.contains(where: { $0 != .deny }) {
                return "one can allow what is not shown"
            }
            if approval.id.isEmpty || approval.id.utf8.count > 256 { return "the id is not whole" }
            var register = ApprovalRegister()
            let now = Timestamp(milliseconds: 1_795_000_000_000)
            guard register.requested(approval, now: now) == [approval] else { return "it is not asked for" }
            let end = max(now, approval.expiresAt).adding(milliseconds: WaitingLimits.graceMs)
            guard register.tick(now: end).first?.isPending == false else { return "it does not end" }
        }
        return nil
    }
}
