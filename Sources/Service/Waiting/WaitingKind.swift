package import Basics
package import EventLoops
package import EventStream
package import Gateway
package import Ledger
package import Runs
package import Store

/// A kind of items that wait for a person: how the gateway asks for them, lists them and takes choices. All else is the
/// same for every kind, and stands in `WaitingService`.
package protocol WaitingKind {
    associatedtype Item: WaitingItem & EventMatter

    /// The type of the events to clients, and the item's name in them.
    static var name: String { get }
    /// The scope that the gateway requires for the lists.
    static var scope: String { get }
    /// Whether items that wait when the gateway announces its stop are cancelled with it.
    static var isCancelledByStop: Bool { get }

    // MARK: From the gateway

    /// Whether this release has the kind at all.
    func isOffered(by profile: GatewayProfile) -> Bool
    func lists(of profile: GatewayProfile) -> [WaitingList<Item>]
    /// The report in an event; nil if the event is about another kind.
    func report(in event: GatewayEvent) -> Item.Report?
    /// The item that a report asks about; nil if the report is incomplete.
    /// - Parameter now: the time by the gateway's clock.
    func item(_ report: Item.Report, now: Timestamp) -> Item?
    /// Whether the gateway says more of the item when it is asked about that item alone.
    func isPart(_ report: Item.Report) -> Bool
    /// Asks the gateway about one item; nil if it does not say, or the item does not wait.
    func complete(
        _ id: String,
        _ report: Item.Report,
        on loop: isolated EventLoop,
        completion: @escaping (Item.Report?) -> Void
    )
    /// Takes a row of a list whose event Ladle has missed.
    func missed(_ row: Item.Report, on loop: isolated EventLoop)
    /// Asks the gateway how an item ended; nil if it does not say.
    func recall(_ id: String, on loop: isolated EventLoop, completion: @escaping (WaitingRegister<Item>.End?) -> Void)

    // MARK: To the gateway

    /// Whether the connected gateway has a call for it.
    func takesChoice(of item: Item) -> Bool
    func send(
        _ choice: Item.Choice,
        of item: Item,
        on loop: isolated EventLoop,
        completion: @escaping (Result<WaitingRegister<Item>.Answer, CallFailure>) -> Void
    )
    func refusal(_ error: GatewayError) -> WaitingRefusal?

    // MARK: Runs and rows

    /// Tells the run that waited.
    func ended(_ item: Item, on loop: isolated EventLoop)
    /// Writes the row of an item.
    /// - Parameter now: the time on our own clock.
    func row(of item: Item, now: Timestamp) -> @Sendable (inout StoreTransaction) throws -> Void
    /// Reads the rows of an earlier process: the items that waited, and those that ended last, the earliest end first.
    static var rows: @Sendable (StoreTables) throws -> (waiting: [Item], ended: [WaitingRegister<Item>.Identity]) {
        get
    }
}

/// A kind that the gateway keeps in memory only, and Ladle too.
extension WaitingKind {
    package static var isCancelledByStop: Bool { false }
    package func isOffered(by profile: GatewayProfile) -> Bool { true }
    package func missed(_ row: Item.Report, on loop: isolated EventLoop) {}
    package func isPart(_ report: Item.Report) -> Bool { false }
    package func complete(
        _ id: String,
        _ report: Item.Report,
        on loop: isolated EventLoop,
        completion: @escaping (Item.Report?) -> Void
    ) {
        completion(nil)
    }
    package func recall(
        _ id: String,
        on loop: isolated EventLoop,
        completion: @escaping (WaitingRegister<Item>.End?) -> Void
    ) {
        completion(nil)
    }
    package func takesChoice(of item: Item) -> Bool { true }
    package func ended(_ item: Item, on loop: isolated EventLoop) {}
    package func row(of item: Item, now: Timestamp) -> @Sendable (inout StoreTransaction) throws -> Void { { _ in } }
    package static var rows:
        @Sendable (StoreTables) throws -> (waiting: [Item], ended: [WaitingRegister<Item>.Identity])
    {
        { _ in ([], []) }
    }
}

/// One of the gateway's lists of items that wait.
package struct WaitingList<Item: WaitingItem> {
    /// Without it most items are in no list.
    let isMain: Bool
    /// Whether the list shows an item if it waits.
    let has: (Item) -> Bool
    let ask: (any GatewayCalls, isolated EventLoop, @escaping (Result<[Item.Report], CallFailure>) -> Void) -> Void

    init<Call: GatewayCall>(
        _ call: Call,
        isMain: Bool = true,
        has: @escaping (Item) -> Bool = { _ in true }
    ) where Call.Output == [Item.Report] {
        self.isMain = isMain
        self.has = has
        ask = { gateway, loop, completion in gateway.call(call, on: loop, completion: completion) }
    }
}
