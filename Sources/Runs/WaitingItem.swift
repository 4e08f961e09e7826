package import Basics

/// An approval or a question: the gateway holds a run until somebody decides or answers, or until the time is over.
package protocol WaitingItem: Sendable, Equatable {
    associatedtype Content: Sendable, Hashable
    /// A decision or an answer.
    associatedtype Choice: Sendable
    /// The gateway's reason to refuse a choice.
    associatedtype Refusal: Sendable, Equatable
    associatedtype State: UntoldState

    static var limits: WaitingLimits { get }

    var id: String { get }
    /// Together with the time, distinguishes the item from another one with the same id.
    var content: Content { get }
    var runID: String? { get }
    var isPending: Bool { get }
    /// By the gateway's clock, as is `expiresAt`.
    var createdAt: Timestamp { get }
    var expiresAt: Timestamp { get set }
    /// The gateway reported `createdAt`; otherwise it is the time when Ladle first saw the item.
    var isCreatedAtReported: Bool { get }
    /// The gateway reported `expiresAt`; otherwise it is the time at which Ladle asks the gateway.
    var isEndReported: Bool { get set }

    func offers(_ choice: Choice) -> Bool
    mutating func end(_ state: State, _ choice: Choice?, by name: String?, at time: Timestamp, via: Approval.Via?)
}

/// The ends that no event reports.
package protocol UntoldState: Sendable {
    static var cancelled: Self { get }
    static var expired: Self { get }
    static var unknown: Self { get }
}

package struct WaitingLimits {
    /// Most items that wait.
    let pending: Int
    /// Most ended items in memory, for choices that come late or twice.
    let ended: Int
    /// Most identities of items that ended earlier. They show that an item in a list is not new.
    let past: Int
}

extension WaitingItem {
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
        isEndReported && time >= expiresAt.adding(milliseconds: -ApprovalLimits.endingMs)
    }
}
