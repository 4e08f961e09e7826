/// The properties of one packet, in the order of the wire.
package struct MQTTProperties: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case byte(UInt8)
        case two(UInt16)
        case four(UInt32)
        case variable(UInt32)
        case text(String)
        case bytes([UInt8])
        case pair(MQTTUserProperty)
    }

    package struct Entry: Sendable, Equatable {
        package var name: MQTTPropertyName
        package var value: Value
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    package mutating func add(_ name: MQTTPropertyName, _ value: Value) {
        entries.append(Entry(name: name, value: value))
    }

    package mutating func add(_ properties: [MQTTUserProperty]) {
        for property in properties { add(.userProperty, .pair(property)) }
    }

    package func number(_ name: MQTTPropertyName) -> UInt32? {
        switch value(name) {
        case .byte(let number): UInt32(number)
        case .two(let number): UInt32(number)
        case .four(let number), .variable(let number): number
        default: nil
        }
    }

    package func text(_ name: MQTTPropertyName) -> String? {
        if case .text(let text) = value(name) { text } else { nil }
    }

    package func bytes(_ name: MQTTPropertyName) -> [UInt8]? {
        if case .bytes(let bytes) = value(name) { bytes } else { nil }
    }

    package var userProperties: [MQTTUserProperty] {
        entries.compactMap { if case .pair(let property) = $0.value { property } else { nil } }
    }

    private func value(_ name: MQTTPropertyName) -> Value? { entries.first { $0.name == name }?.value }
}

extension MQTTReader {
    mutating func properties(in place: MQTTPropertyName.Place) throws(MQTTError) -> MQTTProperties {
        var properties = MQTTProperties()
        var seen: Set<MQTTPropertyName> = []
        var reader = try part(try variable())
        while !reader.isAtEnd {
            let identifier = try reader.variable()
            guard let name = UInt8(exactly: identifier).flatMap(MQTTPropertyName.init), name.mayAppear(in: place) else {
                throw .unknownProperty(UInt32(identifier))
            }
            guard seen.insert(name).inserted || name.mayRepeat(in: place) else {
                throw .repeatedProperty(name.rawValue)
            }
            let value = try reader.value(name.kind)
            switch (name, value) {
            case (.payloadFormat, .byte(2...)), (.subscriptionIdentifier, .variable(0)):
                throw .propertyValue(name.rawValue)
            default: properties.add(name, value)
            }
        }
        return properties
    }

    private mutating func value(_ kind: MQTTPropertyName.Kind) throws(MQTTError) -> MQTTProperties.Value {
        switch kind {
        case .byte: .byte(try byte())
        case .two: .two(try two())
        case .four: .four(try four())
        case .variable: .variable(UInt32(try variable()))
        case .text: .text(try text())
        case .bytes: .bytes(try binary())
        case .pair: .pair(MQTTUserProperty(try text(), try text()))
        }
    }
}

extension MQTTWriter {
    mutating func properties(_ properties: MQTTProperties) throws(MQTTFormatError) {
        var inner = MQTTWriter()
        for entry in properties.entries {
            inner.byte(entry.name.rawValue)
            switch entry.value {
            case .byte(let value): inner.byte(value)
            case .two(let value): inner.two(value)
            case .four(let value): inner.four(value)
            case .variable(let value): inner.variable(Int(value))
            case .text(let value): try inner.text(value)
            case .bytes(let value): try inner.binary(value)
            case .pair(let value):
                try inner.text(value.name)
                try inner.text(value.value)
            }
        }
        variable(inner.bytes.count)
        bytes += inner.bytes
    }
}
