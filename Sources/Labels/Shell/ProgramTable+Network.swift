import Basics

/// Programs that speak to other hosts.
extension ProgramTable {
    static let network: [String: ProgramRule] = [
        "curl": .custom(curl),
        "wget": .custom(wget),
        "aria2c": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "-o --out -d --dir -x -s -j --header -i"))
            return transfer(line, file: line.value("-o", "--out"), named: true, sends: false)
        },
        "http": .custom(httpie), "https": .custom(httpie), "xh": .custom(httpie),
        "agent-browser": .custom { command, _ in
            let text = browser(in: command.arguments.map(\.text).joined(separator: " "))
            return CommandLabel(text, .browser, .fetching)
        },
        "ssh": .custom { command, _ in
            let line = CommandLine(
                command.arguments,
                valued: Set(words: "-i -p -l -o -F -J -L -R -D -W -b -c -e -m -E -I -O -Q -S -w -B"),
                stopsAtOperand: true
            )
            let host = line.operands.first.flatMap { LabelText.host(ofTarget: $0) } ?? "a server"
            let text = line.operands.count > 1 ? "Running a command on \(host)" : "Connecting to \(host)"
            return CommandLabel(text, .network, .remote)
        },
        "sftp": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "-i -P -o -F -b -J -c -S"))
            let host = line.operands.first.flatMap { LabelText.host(ofTarget: $0) } ?? "a server"
            return CommandLabel("Connecting to \(host)", .network, .remote)
        },
        "ping": .custom(checkingHost), "dig": .custom(checkingHost), "nslookup": .custom(checkingHost),
    ]

    private static func checkingHost(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: Set(words: "-c -i -t -W -w -s -I -p -q -x -b"))
        let operand = line.operands.first { !$0.text.hasPrefix("@") && !$0.text.hasPrefix("+") }
        let host = (operand ?? line.value("-x")).flatMap { LabelText.host(ofTarget: $0) }
        return CommandLabel("Checking \(host ?? "network")", .network, .checking)
    }

    private static let curlValued = Set(
        words: """
            -A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --request --data --data-raw \
            --data-binary --data-urlencode --data-ascii --json --form --form-string --upload-file --output --output-dir --header \
            --user --user-agent --cookie --cookie-jar --max-time --connect-timeout --retry --retry-delay --retry-max-time --proxy \
            --proxy-user --cacert --capath --cert --key --resolve --referer --range --write-out --url --config --interface \
            --limit-rate --max-redirs --dump-header --oauth2-bearer --unix-socket --connect-to --ciphers --tls-max --aws-sigv4 \
            --max-filesize --noproxy --variable --rate --continue-at --time-cond --stderr --trace --trace-ascii --pinnedpubkey
            """
    )

    private static func curl(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: curlValued)
        let method = line.value("-X", "--request")?.text.uppercased()
        let hasBody = line.has(
            "-d",
            "--data",
            "--data-raw",
            "--data-binary",
            "--data-urlencode",
            "--data-ascii",
            "--json",
            "-F",
            "--form",
            "--form-string",
            "-T",
            "--upload-file"
        )
        let sends = hasBody && !line.has("-G", "--get") || method.map { $0 != "GET" && $0 != "HEAD" } ?? false
        return transfer(
            line,
            file: line.value("-o", "--output"),
            named: line.has("-O", "--remote-name", "--remote-name-all"),
            sends: sends
        )
    }

    private static func wget(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(
            command.arguments,
            valued: Set(
                words: """
                    -O -o -P -U -e -t -T -w -Q -a -i -B -D -A -R -I -X -l --output-document --output-file --directory-prefix \
                    --user-agent --tries --timeout --wait --post-data --post-file --method --body-data --body-file --header \
                    --user --password --http-user --http-password --referer --level --limit-rate --input-file
                    """
            )
        )
        let method = line.value("--method")?.text.uppercased()
        let sends =
            line.has("--post-data", "--post-file", "--body-data", "--body-file")
            || method.map { $0 != "GET" && $0 != "HEAD" } ?? false
        let file = line.value("-O", "--output-document")
        return transfer(line, file: file, named: file == nil && !line.has("--spider"), sends: sends)
    }

    /// `http [METHOD] URL [item…]`; items with `=`, `:=` or `@` make a body.
    private static func httpie(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(
            command.arguments,
            valued: Set(
                words:
                    "-o --output -a --auth -A --auth-type --session -p --print -s --style --timeout --proxy --cert --verify"
            )
        )
        var operands = line.operands
        var method: String?
        if operands.count > 1, let first = operands.first, first.text.allSatisfy({ $0.isASCII && $0.isUppercase }) {
            method = first.text
            operands.removeFirst()
        }
        let items = operands.dropFirst()
        let hasBody = items.contains { item in
            guard let sign = item.text.firstIndex(where: { "=:@".contains($0) }) else { return false }
            let rest = item.text[sign...]
            return rest.hasPrefix(":=") || rest.hasPrefix("@") || (rest.hasPrefix("=") && !rest.hasPrefix("=="))
        }
        let sends = method.map { $0 != "GET" && $0 != "HEAD" } ?? hasBody
        let address = operands.first.map { [$0] } ?? []
        return transfer(address, file: line.value("-o", "--output"), named: line.has("-d", "--download"), sends: sends)
    }

    private static func transfer(_ line: CommandLine, file: ShellWord?, named: Bool, sends: Bool) -> CommandLabel {
        transfer((line.value("--url").map { [$0] } ?? []) + line.operands, file: file, named: named, sends: sends)
    }

    private static func transfer(_ addresses: [ShellWord], file: ShellWord?, named: Bool, sends: Bool) -> CommandLabel {
        let address =
            addresses.first { $0.text.containsText("://") }
            ?? addresses.first { $0.text.contains(".") || $0.text.contains(":") || $0.text.hasPrefix("localhost") }
        let host = address.flatMap { word -> String? in
            if word.text.containsText("://") { return LabelText.host(in: word.text) }
            return word.text.hasPrefix(":") ? "localhost" : LabelText.host(ofTarget: word)
        }
        if sends {
            return CommandLabel(host.map { "Sending data to \($0)" } ?? "Sending data", .network, .remote)
        }
        let sinks: Set<String> = ["-", "/dev/null", "/dev/stdout", "/dev/stderr"]
        if let file, !sinks.contains(file.text) {
            return CommandLabel("Downloading \(LabelText.name(of: file) ?? "a file")", .network, .fetching)
        }
        if file == nil, named, let address, let name = fileName(of: address) {
            return CommandLabel("Downloading \(name)", .network, .fetching)
        }
        return CommandLabel(host.map { "Fetching from \($0)" } ?? "Fetching data", .network, .fetching)
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

    /// A search on a page, a page, or just the browser.
    static func browser(in text: String) -> String {
        for mark in ["?q=", "&q="] {
            guard let range = text.rangeOfText(mark) else { continue }
            let value = text[range.upperBound...].prefix { !"&\"' #".contains($0) && !$0.isNewline }
            let query = LabelText.collapsed(percentDecoded(value))
            if !query.isEmpty { return "Searching \(LabelText.quoted(query))" }
        }
        return LabelText.host(in: text).map { "Browsing \($0)" } ?? "Using browser"
    }

    static func percentDecoded(_ text: some StringProtocol) -> String {
        String(decoding: Hex.percentDecoded(Array(text.utf8)[...], plusIsBlank: true), as: UTF8.self)
    }
}
