package import JSONBytes

/// What `ladle discover` prints.
package struct DiscoveryReport: Sendable {
    package let gateways: [DiscoveredGateway]

    package init(_ gateways: [DiscoveredGateway]) {
        self.gateways = gateways
    }

    /// One line a gateway, cut to `width` columns. Names come from the network: what could drive a terminal is
    /// replaced.
    package func table(width: Int = 100) -> String {
        guard !gateways.isEmpty else { return "no gateway announced itself\n" }
        let rows =
            [["NAME", "URL", "HOST"]]
            + gateways.map { [Self.printable($0.displayName), Self.printable($0.url), Self.printable($0.host)] }
        let widths = (0..<2).map { column in min(rows.map { $0[column].count }.max() ?? 0, 48) }
        return rows.map { row in
            let line = "\(Self.pad(row[0], widths[0]))  \(Self.pad(row[1], widths[1]))  \(row[2])"
            return String(line.prefix(max(width, 20))) + "\n"
        }.joined()
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text.count > width
            ? text.prefix(width - 1) + "…" : text + String(repeating: " ", count: width - text.count)
    }

    private static func printable(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                out.append("\u{FFFD}")
            default: out.append(scalar)
            }
        }
        return String(out)
    }
}

extension DiscoveryReport: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in writer.array("gateways", of: gateways) }
    }
}
