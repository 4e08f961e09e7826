/// The `name=value` items of a query or form body, decoded, in order.
package struct QueryItems: Sendable, Equatable {
    package struct Item: Sendable, Equatable {
        package var name: String
        /// The value; empty when the item has no equals sign.
        package var value: String
        package var hasEqualsSign: Bool
    }

    /// More items than any Ladle request can use; the limit keeps a hostile query from creating thousands of strings.
    package static let maxItems = 64

    package private(set) var items: [Item] = []

    package init() {}

    /// - Parameter offset: the position of the bytes in the request target (0 for a form body).
    package init(parsing bytes: ArraySlice<UInt8>, offset: Int = 0) throws(RequestTargetError) {
        var start = bytes.startIndex
        while start <= bytes.endIndex {
            let end = bytes[start...].firstIndex(of: 0x26) ?? bytes.endIndex
            if end > start {
                guard items.count < Self.maxItems else { throw .tooManyQueryItems(limit: Self.maxItems) }
                let equals = bytes[start..<end].firstIndex(of: 0x3D)
                let base = offset + start - bytes.startIndex
                let name = try PercentCoding.decode(bytes[start..<(equals ?? end)], offset: base, plusIsBlank: true)
                var value = ""
                if let equals {
                    value = try PercentCoding.decode(
                        bytes[(equals + 1)..<end],
                        offset: base + equals + 1 - start,
                        plusIsBlank: true
                    )
                }
                items.append(Item(name: name, value: value, hasEqualsSign: equals != nil))
            }
            start = end + 1
        }
    }

    /// The value of the first item with this name.
    package subscript(_ name: String) -> String? {
        for item in items where item.name == name { return item.value }
        return nil
    }

    /// The first name that occurs twice, because choosing one of its values would be a guess.
    package var repeatedName: String? {
        for (index, item) in items.enumerated() where items[..<index].contains(where: { $0.name == item.name }) {
            return item.name
        }
        return nil
    }
}
