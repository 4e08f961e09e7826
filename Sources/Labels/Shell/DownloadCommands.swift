import Basics

/// Programs that fetch from and send to an address.
enum DownloadCommands {
    static func curl(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        transfer(
            line,
            file: line.value("-o", "--output"),
            named: line.has("-O", "--remote-name", "--remote-name-all"),
            sends: line.options.contains { curlBodies.contains($0.name) } && !line.has("-G", "--get")
                || sends(line.value("-X", "--request"))
        )
    }

    private static let curlBodies = Set(
        words: """
            -d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string -T --upload-file
            """
    )

    static func wget(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        let hasBody = line.has("--post-data", "--post-file", "--body-data", "--body-file")
        let file = line.value("-O", "--output-document")
        return transfer(
            line,
            file: file,
            named: file == nil && !line.has("--spider"),
            sends: hasBody || sends(line.value("--method"))
        )
    }

    static func aria2(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        transfer(line, file: line.value("-o", "--out"), named: true, sends: false)
    }

    /// `http [METHOD] URL [item…]`; items with `=`, `:=` or `@` make a body.
    static func httpie(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        var operands = line.operands[...]
        var method: ShellWord?
        if operands.count > 1, let first = operands.first, first.text.allSatisfy({ $0.isASCII && $0.isUppercase }) {
            method = operands.popFirst()
        }
        let hasBody = operands.dropFirst().contains { item in
            guard let sign = item.text.firstIndex(where: { "=:@".contains($0) }) else { return false }
            let rest = item.text[sign...]
            return rest.hasPrefix(":=") || rest.hasPrefix("@") || (rest.hasPrefix("=") && !rest.hasPrefix("=="))
        }
        return transfer(
            operands.prefix(1),
            file: line.value("-o", "--output"),
            named: line.has("-d", "--download"),
            sends: method == nil ? hasBody : sends(method)
        )
    }

    private static func sends(_ method: ShellWord?) -> Bool {
        guard let method = method?.text.uppercased() else { return false }
        return method != "GET" && method != "HEAD"
    }

    private static func transfer(_ line: ParsedArguments, file: ShellWord?, named: Bool, sends: Bool) -> CommandLabel {
        let addresses = (line.value("--url").map { [$0] } ?? []) + line.operands
        return transfer(addresses[...], file: file, named: named, sends: sends)
    }

    /// With `named`, the file gets its name from the address.
    private static func transfer(
        _ addresses: ArraySlice<ShellWord>,
        file: ShellWord?,
        named: Bool,
        sends: Bool
    ) -> CommandLabel {
        let address =
            addresses.first { $0.text.containsText("://") }
            ?? addresses.first { $0.text.contains(".") || $0.text.contains(":") || $0.text.hasPrefix("localhost") }
        let host = address.flatMap { word -> String? in
            if word.text.containsText("://") { return LabelText.host(in: word.text) }
            return word.text.hasPrefix(":") ? "localhost" : word.host
        }
        if sends { return .network("Sending data" + (host.map { " to \($0)" } ?? ""), .remote) }
        if let file, !["-", "/dev/null", "/dev/stdout", "/dev/stderr"].contains(file.text) {
            return .network("Downloading \(file.name ?? "a file")", .fetching)
        }
        if file == nil, named, let name = address.flatMap(fileName) {
            return .network("Downloading \(name)", .fetching)
        }
        return .network(host.map { "Fetching from \($0)" } ?? "Fetching data", .fetching)
    }

    /// The last part of the address's path, without its query.
    private static func fileName(of address: ShellWord) -> String? {
        guard !address.isOpaque else { return nil }
        var text = address.text[...]
        if let scheme = text.rangeOfText("://") { text = text[scheme.upperBound...] }
        text = text.prefix { $0 != "?" && $0 != "#" }
        guard let slash = text.firstIndex(of: "/"), text.last != "/" else { return nil }
        return LabelText.name(ofPath: String(text[slash...]))
    }
}
