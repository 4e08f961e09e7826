import JSONBytes
import Server

/// The parsed JSON of a message and its checked attachments: work that takes long for a large body and needs no state
/// of the loop.
struct MessageBody: Sendable {
    /// Larger bodies are parsed off the loop; one of this size takes about a millisecond.
    static let mostOnLoop = 256 << 10

    let json: Result<JSONDocument, Problem>
    /// The attachments as they are stored; nil if there are none.
    let attachments: Result<[UInt8]?, Problem>

    init(_ bytes: [UInt8], _ rules: AttachmentRules) {
        json = Call.parse(bytes)
        attachments = json.flatMap { Self.attachments($0.root["attachments"], rules) }
    }

    @concurrent static func reading(_ bytes: [UInt8], _ rules: AttachmentRules) async -> MessageBody {
        MessageBody(bytes, rules)
    }

    private static func attachments(_ list: JSONValue?, _ rules: AttachmentRules) -> Result<[UInt8]?, Problem> {
        guard let list, !list.isNull else { return .success(nil) }
        do throws(Problem) {
            return .success(try rules.check(list))
        } catch {
            return .failure(error)
        }
    }
}
