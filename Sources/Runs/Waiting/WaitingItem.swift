package import Basics
package import Gateway
package import JSONBytes

/// An approval or a question: the gateway holds a run until somebody decides or answers, or until the time is over.
package protocol WaitingItem: Sendable, Equatable {
    associatedtype Content: Sendable, Hashable
    /// A decision or an answer.
    associatedtype Choice: Sendable, Equatable
    /// An event of the gateway about it.
    associatedtype Report: WaitingReport
    associatedtype State: WaitingState

    static var limits: WaitingLimits { get }
    /// The state of an item that ended with this choice.
    static func state(after choice: Choice) -> State

    var id: String { get }
    /// Together with the time, distinguishes the item from another one with the same id.
    var content: Content { get }
    var session: String? { get }
    var runID: String? { get }
    var state: State { get set }
    /// By the gateway's clock, as is `expiresAt`.
    var createdAt: Timestamp { get }
    var expiresAt: Timestamp { get set }
    /// The gateway reported `createdAt`; otherwise it is the time when Ladle first saw the item.
    var isCreatedAtReported: Bool { get }
    /// The gateway reported `expiresAt`; otherwise it is the time at which Ladle asks the gateway.
    var isEndReported: Bool { get set }

    func offers(_ choice: Choice) -> Bool
    /// The gateway does not take this choice.
    mutating func withdraw(_ choice: Choice)
    /// Whether this choice ended the item.
    func hasEnded(by choice: Choice) -> Bool
    /// The end that the gateway reports; nil if its answer to our own choice will say more.
    /// - Parameters:
    ///   - sent: our choices without an answer, the last one last.
    ///   - own: the name under which Ladle is connected.
    func end(
        told report: Report,
        after sent: [WaitingRegister<Self>.Attempt],
        own: String,
        at time: Timestamp
    ) -> WaitingRegister<Self>.End?
    mutating func end(_ end: WaitingRegister<Self>.End)

    /// - Parameter now: the time by the gateway's clock; if given, the remaining time is written too.
    func write(to writer: inout JSONWriter, now: Timestamp?)
}

/// An event of the gateway, or a row of its list.
package protocol WaitingReport: Sendable {
    var id: String? { get }
    var time: Timestamp? { get }
    /// Whether it reports the end.
    var isResolved: Bool { get }
}

extension ApprovalEvent: WaitingReport {}
extension QuestionEvent: WaitingReport {}

/// The states that all kinds have.
package protocol WaitingState: Sendable, Hashable {
    static var pending: Self { get }
    static var cancelled: Self { get }
    static var expired: Self { get }
    static var unknown: Self { get }
}

/// Limits on the memory of one kind, so that no gateway can fill it, and the times after which Ladle asks or gives up.
package struct WaitingLimits {
    /// A choice is refused this close to the item's end, because it would come too late.
    static let marginMs: Int64 = 500
    /// How long Ladle waits after an item's end: another client's choice of the last moment may still be on its way to us.
    package static let graceMs: Int64 = 1_000
    /// If the gateway does not know an item so shortly before the item's end, its time is over.
    static let endingMs: Int64 = 2_000
    /// Ladle asks after this time if the gateway reports a later end.
    static let longestLifeMs: Int64 = 86_400_000
    /// The time the gateway has to say whether an item still waits.
    static let askingMs: Int64 = 60_000
    /// How often Ladle asks about an item that waits beyond its end.
    static let againMs: Int64 = 30_000
    /// The first wait before asking again for lists that did not come. A gateway that has just started
    /// may not answer, and what waits there stays unseen until it does.
    package static let firstRetryMs: Int64 = 2_000
    package static let longestRetryMs: Int64 = 60_000
    /// Allowed clock difference while the gateway's clock is unknown, before the first connection; clocks are seldom
    /// further apart.
    package static let clockToleranceMs: Int64 = 3_600_000
    /// The wall clock may be set, so long waits are checked in between.
    package static let longestWaitMs: Int64 = 60_000

    /// Most items that wait. A gateway holds a run for each; Ladle takes further ones once there is room.
    let pending: Int
    /// Most ended items in memory, for choices that come late or twice.
    let ended: Int
    /// Most identities of items that ended earlier. They show that an item in a list is not new.
    let past: Int
    /// Most choices of one item that are kept after their answer was lost.
    let lost: Int
}

extension WaitingItem {
    package var isPending: Bool { state == .pending }

    package var identity: WaitingRegister<Self>.Identity {
        WaitingRegister.Identity(id: id, createdAt: createdAt, content: content)
    }

    /// Whether this is another item with an id that was used before.
    func differs(from known: Self) -> Bool {
        content != known.content
            || (isCreatedAtReported && known.isCreatedAtReported && createdAt != known.createdAt)
    }

    /// Whether the time was over; only an end that the gateway reported counts.
    func isEnding(at time: Timestamp) -> Bool {
        isEndReported && time >= expiresAt.adding(milliseconds: -WaitingLimits.endingMs)
    }
}
