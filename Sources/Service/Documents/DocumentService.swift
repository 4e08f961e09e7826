package import Basics
package import Documents
package import EventLoops
package import Gateway
import JSONBytes
package import Runs
import Store
import TLS
import Upstream

/// The agents' IDENTITY.md and USER.md: a cache that survives restarts, and writes that are read back. Operations on
/// one file run one after the other, so that two writers cannot lose each other's changes.
package final class DocumentService {
    package struct Name: Hashable {
        package let agent: String
        package let kind: DocumentKind

        package init(agent: String, kind: DocumentKind) {
            self.agent = agent
            self.kind = kind
        }
    }

    package struct Copy {
        package var bytes: [UInt8]
        package var asOf: Timestamp
        /// False after the link was lost, because the file may have changed since.
        package var isFresh: Bool
        /// Whether the gateway has no such file.
        var isMissing: Bool
        /// The gateway has no such file by design: on gateways with several people, each has a profile of their own, and the agent's is empty.
        package var isExpectedAbsent = false
        /// The gateway's own hash of the file, if the gateway gives one.
        package var hash: String?
        /// Earlier versions, oldest first: a caller whose condition names one of them learns which fields changed
        /// since.
        var former: [Former] = []
    }

    package struct Former {
        let tag: String
        let fields: DocumentFields
    }

    /// The time for which a fresh copy is used without asking the gateway.
    private static let freshMilliseconds: Int64 = 5000
    /// A stalled gateway is asked for one file by at most so many readers; the others get the copy at once.
    private static let mostAsking = 8
    /// The most files kept in memory; a gateway has a handful of agents.
    private static let mostCopies = 256
    private static let mostFormer = 8
    private static let space = "documents"

    unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    let mayAskByChat: Bool
    let asker: ChatAsker
    /// The agent for requests that name none.
    package private(set) var defaultAgent: String
    /// Whether the gateway gives hashes, and so accepts them as write conditions.
    private(set) var hasGuards = false
    private var copies: [Name: Copy] = [:]
    /// The flows of one file go one after the other.
    let turns = TurnQueues<Name>()
    private let refreshMilliseconds: Int64

    package init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        runs: RunService,
        mayAskByChat: Bool,
        refreshMilliseconds: Int64
    ) {
        self.gateway = gateway
        self.feed = feed
        self.mayAskByChat = mayAskByChat
        self.refreshMilliseconds = refreshMilliseconds
        defaultAgent = runs.defaults.agent
        asker = ChatAsker(gateway: gateway, runs: runs)
    }

    package static func tag(of bytes: [UInt8]) -> String { Hex.encode(Digest.sha256(bytes).prefix(16)) }

    /// The fields of the version that a condition names, if they are still remembered.
    func formerFields(_ name: Name, _ condition: DocumentCondition) -> DocumentFields? {
        copies[name]?.former.last { condition.matches($0.tag) }?.fields
    }

    // MARK: Keeping up

    /// Loads the copies of an earlier process, to answer before the gateway connects.
    package func load(on loop: isolated EventLoop) {
        feed.readSaved("documents", on: loop) { tables in
            try tables.values.all(space: Self.space).map { ($0.name, $0.value.bytes, $0.value.updatedAt) }
        } failed: { _ in
        } completion: { [weak self] rows in
            guard let self else { return }
            for (key, bytes, at) in rows {
                guard let name = Name(key: key), self.copies[name] == nil else { continue }
                self.copies[name] = Copy(bytes: bytes, asOf: at, isFresh: false, isMissing: false)
            }
        }
        armRefresh(on: loop)
    }

    func defaultsChanged(_ defaults: SessionDefaults) { defaultAgent = defaults.agent }

    /// Refreshes the files if a step of the run named one of them, since the run may have written it.
    package func runEnded(_ run: Run, on loop: isolated EventLoop) {
        let named = run.steps.contains { step in
            let text = step.label + (step.detail ?? "")
            return DocumentKind.allCases.contains { text.contains($0.fileName) }
        }
        if named { refreshAll(on: loop) }
    }

    package func received(_ event: GatewayEvent, on loop: isolated EventLoop) { asker.received(event, on: loop) }

    func linkClosed() {
        hasGuards = false
        for name in copies.keys { copies[name]?.isFresh = false }
        asker.linkClosed()
    }

    /// Reads all files again, after a run named one of them or the agent was renamed.
    func refreshAll(on loop: isolated EventLoop) {
        var names = Set(copies.keys)
        for kind in DocumentKind.allCases { names.insert(Name(agent: defaultAgent, kind: kind)) }
        for name in names {
            loop.start { [self] in
                await turns.begin(name, on: loop)
                defer { turns.end(name) }
                _ = try? await fetch(name, on: loop)
            }
        }
    }

    private func armRefresh(on loop: isolated EventLoop) {
        loop.after(milliseconds: refreshMilliseconds) { [weak self] in
            guard let self else { return }
            if self.gateway.isOnline { self.refreshAll(on: loop) }
            self.armRefresh(on: loop)
        }
    }

    // MARK: Reading

    /// The last seen bytes of the file, without asking; nil if it was never read or is missing.
    func known(_ name: Name) -> [UInt8]? { copies[name].flatMap { $0.isMissing ? nil : $0.bytes } }

    /// The current file, or the last seen copy if the gateway cannot be asked or, for a reader that did not ask for a new one, does not
    /// answer in time.
    package func read(
        _ name: Name,
        refresh: Bool,
        on loop: isolated EventLoop
    ) async throws(DocumentFault) -> Copy {
        guard var copy = copies[name] else { return try await readNow(name, on: loop) }
        let age = loop.wallClock.milliseconds - copy.asOf.milliseconds
        if !gateway.isOnline || (!refresh && copy.isFresh && age < Self.freshMilliseconds) { return copy }
        if refresh { return try await readNow(name, on: loop) }
        copy.isFresh = false
        guard turns.count(name) < Self.mostAsking else { return copy }
        let answer = await loop.within(milliseconds: ReaderPatience.milliseconds) { [self] in
            do throws(DocumentFault) {
                return Result<Copy, DocumentFault>.success(try await readNow(name, on: loop))
            } catch {
                return .failure(error)
            }
        }
        return try answer?.get() ?? copy
    }

    private func readNow(_ name: Name, on loop: isolated EventLoop) async throws(DocumentFault) -> Copy {
        await turns.begin(name, on: loop)
        defer { turns.end(name) }
        do throws(DocumentFault) {
            return try await fetch(name, on: loop)
        } catch {
            guard let known = copies[name], error.isAbsence else { throw error }
            return known
        }
    }

    func fetch(_ name: Name, on loop: isolated EventLoop) async throws(DocumentFault) -> Copy {
        let call = AgentsFilesGet(agentId: name.agent, name: name.kind.fileName)
        do throws(CallFailure) {
            let file = try await gateway.call(call, on: loop)
            if file.hash != nil { hasGuards = true }
            return learned(name, file, on: loop)
        } catch {
            throw .gateway(GatewayFault(error, over: gateway), about: name.kind.fileName)
        }
    }

    /// Stores the gateway's current file; a change publishes an event.
    private func learned(_ name: Name, _ file: AgentFile, on loop: isolated EventLoop) -> Copy {
        let bytes = Array((file.content ?? "").utf8)
        let before = copies[name]
        var copy = Copy(
            bytes: bytes,
            asOf: loop.wallClock,
            isFresh: gateway.isOnline,
            isMissing: file.missing,
            isExpectedAbsent: file.isExpectedAbsent,
            hash: file.hash,
            former: before?.former ?? []
        )
        if let before, before.bytes != bytes {
            let fields = FieldDocument(kind: name.kind, bytes: before.bytes).fields
            copy.former =
                copy.former.suffix(Self.mostFormer - 1) + [Former(tag: Self.tag(of: before.bytes), fields: fields)]
        }
        if copies.count < Self.mostCopies || before != nil { copies[name] = copy }
        guard before?.bytes != bytes else { return copy }
        let key = name.key
        let at = loop.wallClock
        let tag = Self.tag(of: bytes)
        feed.publish(name.kind.rawValue, on: loop) { object in
            object.member("agent", name.agent)
            object.member("etag", "\"\(tag)\"")
        } also: { transaction in
            try transaction.values.set(bytes, space: Self.space, name: key, at: at)
        }
        return copy
    }

    /// The flows of this file: the one at work and those that wait for it.
    package func waiting(_ name: Name) -> Int { turns.count(name) }
}

extension DocumentService.Name {
    var key: String { "\(kind.rawValue)/\(agent)" }

    init?(key: String) {
        let parts = key.split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let kind = DocumentKind(rawValue: String(parts[0])) else { return nil }
        self.init(agent: String(parts[1]), kind: kind)
    }
}
