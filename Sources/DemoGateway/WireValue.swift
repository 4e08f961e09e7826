package import JSONBytes

/// A JSON tree for frames. Members keep their order, so that frames read like recorded ones.
package indirect enum WireValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([WireValue])
    case object([Member])

    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: WireValue
    }

    /// Copies a parsed value; whole numbers stay whole.
    package init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .bool: self = .bool(value.bool ?? false)
        case .number: self = value.int.map(WireValue.int) ?? .double(value.double ?? 0)
        case .string: self = .string(value.string ?? "")
        case .array: self = .array(value.elements.map { WireValue($0) })
        case .object: self = .object(value.members.map { Member(name: $0.key, value: WireValue($0.value)) })
        }
    }

    /// This object followed by the members of another one.
    func adding(_ other: WireValue) -> WireValue {
        guard case .object(let mine) = self, case .object(let theirs) = other else { return self }
        return .object(mine + theirs)
    }

    package var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        write(to: &writer)
        return writer.bytes
    }
}

extension WireValue: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .int(let value): writer.int(value)
        case .double(let value): writer.double(value)
        case .string(let value): writer.string(value)
        case .array(let values):
            writer.beginArray()
            for value in values { value.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.name)
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
    }
}

/// A value in an object literal of `WireValue`; nil leaves its member out.
package protocol WireConvertible {
    var wire: WireValue { get }
}

extension WireValue: WireConvertible {
    package var wire: WireValue { self }
}
extension String: WireConvertible {
    package var wire: WireValue { .string(self) }
}
extension Bool: WireConvertible {
    package var wire: WireValue { .bool(self) }
}
extension Int: WireConvertible {
    package var wire: WireValue { .int(Int64(self)) }
}
extension Int64: WireConvertible {
    package var wire: WireValue { .int(self) }
}
extension Double: WireConvertible {
    package var wire: WireValue { .double(self) }
}
extension Array: WireConvertible where Element: WireConvertible {
    package var wire: WireValue { .array(map(\.wire)) }
}

extension WireValue: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, (any WireConvertible)?)...) {
        self = .object(
            elements.compactMap { name, value in value.map { Member(name: name, value: $0.wire) } }
        )
    }
}
