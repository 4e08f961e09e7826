import Basics

/// Finds the places where a value is secret because of what stands before it: `password=…`, `--token …`,
/// `Authorization: Bearer …`, `//user:password@`, PEM blocks.
struct SecretScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var result: [UInt8] = []
    /// `-p` takes a password with these programs only; elsewhere it is a port or a path.
    private let masksShortPassword: Bool

    init(_ text: String) {
        bytes = Array(text.utf8)
        masksShortPassword = ["mysql", "mariadb", "sshpass"].contains { text.containsText($0) }
    }

    mutating func masked() -> String {
        result.reserveCapacity(bytes.count)
        while position < bytes.count {
            if starts(with: "-----BEGIN ", at: position) {
                pem()
            } else if atWordStart, Self.isNameStart(bytes[position]) {
                name()
            } else if starts(with: "://", at: position) {
                authority()
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private var atWordStart: Bool {
        position == 0 || !Self.isNameByte(bytes[position - 1])
    }

    /// A name, and its value where the name says that the value is secret.
    private mutating func name() {
        let start = position
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        let name = bytes[start..<position]
        if masksShortPassword, name.starts(with: "-p".utf8) { return shortPassword(name) }
        result += name
        if shortUser(name) { return userOption(name) }
        guard Self.isSecretName(name) else { return }
        let isOption = name.first == UInt8(ascii: "-")
        let isHeader = Self.isHeaderName(name)
        var separator = position
        if separator < bytes.count, bytes[separator] == UInt8(ascii: "\\") { separator += 1 }
        if separator < bytes.count, Self.isQuote(bytes[separator]) { separator += 1 }
        while separator < bytes.count, bytes[separator] == UInt8(ascii: " "), !isOption { separator += 1 }
        guard separator < bytes.count else { return }
        let byte = bytes[separator]
        let hasSign = byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":")
        guard hasSign || (isOption && byte == UInt8(ascii: " ")) else { return }
        separator += 1
        while separator < bytes.count, bytes[separator] == UInt8(ascii: " ") { separator += 1 }
        guard separator < bytes.count else { return }
        result += bytes[position..<separator]
        position = separator
        isHeader && byte == UInt8(ascii: ":") ? headerValue() : value()
    }

    /// A value up to its closing quote, or up to a blank or a separator.
    private mutating func value() {
        guard position < bytes.count else { return }
        let first = bytes[position]
        if first == UInt8(ascii: "$") || first == UInt8(ascii: "`") { return }
        if first == UInt8(ascii: "\\"), position + 1 < bytes.count, Self.isQuote(bytes[position + 1]) {
            result += [first, bytes[position + 1]]
            position += 2
            return quotedValue(closing: bytes[position - 1])
        }
        if Self.isQuote(first) {
            result.append(first)
            position += 1
            return quotedValue(closing: first)
        }
        let start = position
        while position < bytes.count, !Self.endsValue(bytes[position]) { position += 1 }
        if position > start { result += SecretMask.mark.utf8 }
    }

    private mutating func quotedValue(closing: UInt8) {
        let start = position
        while position < bytes.count, bytes[position] != closing, bytes[position] != UInt8(ascii: "\n") {
            position += 1
        }
        guard position > start else { return }
        result += SecretMask.mark.utf8
        if bytes[position - 1] == UInt8(ascii: "\\") { result.append(UInt8(ascii: "\\")) }
    }

    /// The rest of a header; the scheme stays.
    private mutating func headerValue() {
        for scheme in ["Bearer ", "Basic ", "Token ", "bearer ", "basic ", "token "]
        where starts(with: scheme, at: position) {
            result += scheme.utf8
            position += scheme.utf8.count
            break
        }
        if position < bytes.count, Self.isQuote(bytes[position]) { return value() }
        let start = position
        while position < bytes.count, !Self.isQuote(bytes[position]), bytes[position] != UInt8(ascii: "\n"),
            bytes[position] != UInt8(ascii: "\\")
        {
            position += 1
        }
        if position > start { result += SecretMask.mark.utf8 }
    }

    /// `-u name:password`, `--user name:password`: the name stays.
    private func shortUser(_ name: ArraySlice<UInt8>) -> Bool {
        ["-u", "--user", "--proxy-user", "-U"].contains { name.elementsEqual($0.utf8) }
    }

    private mutating func userOption(_ name: ArraySlice<UInt8>) {
        var end = position
        while end < bytes.count,
            bytes[end] == UInt8(ascii: " ") || bytes[end] == UInt8(ascii: "=") || Self.isQuote(bytes[end])
        {
            end += 1
        }
        while end < bytes.count, bytes[end] != UInt8(ascii: ":"), !Self.endsValue(bytes[end]) { end += 1 }
        guard end < bytes.count, bytes[end] == UInt8(ascii: ":") else { return }
        result += bytes[position...end]
        position = end + 1
        while position < bytes.count, !Self.endsValue(bytes[position]), !Self.isQuote(bytes[position]) { position += 1 }
        result += SecretMask.mark.utf8
    }

    /// `-pPASSWORD`, `-p PASSWORD`.
    private mutating func shortPassword(_ name: ArraySlice<UInt8>) {
        result += "-p".utf8
        guard name.count == 2 else { return result += SecretMask.mark.utf8 }
        guard position < bytes.count, bytes[position] == UInt8(ascii: " ") else { return }
        result.append(bytes[position])
        position += 1
        value()
    }

    /// User info of an address.
    private mutating func authority() {
        result += "://".utf8
        position += 3
        var end = position
        var at: Int?
        while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?"),
            !Self.isBlankOrQuote(bytes[end])
        {
            if bytes[end] == UInt8(ascii: "@") { at = end }
            end += 1
        }
        guard let at else { return }
        result += SecretMask.mark.utf8
        position = at
    }

    private mutating func pem() {
        result += SecretMask.mark.utf8
        while position < bytes.count, !starts(with: "-----END ", at: position) { position += 1 }
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
    }

    private func starts(with text: String, at place: Int) -> Bool {
        bytes[place...].starts(with: text.utf8)
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isNameStart(byte) || byte.isASCIIDigit || byte == UInt8(ascii: ".")
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isBlankOrQuote(_ byte: UInt8) -> Bool { byte <= 0x20 || isQuote(byte) }

    private static func endsValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "|"), UInt8(ascii: ","), UInt8(ascii: "}"),
            UInt8(ascii: ")"):
            true
        default: isBlankOrQuote(byte)
        }
    }

    private static func isHeaderName(_ name: ArraySlice<UInt8>) -> Bool {
        let lowered = String(decoding: name, as: UTF8.self).lowercased()
        return lowered.hasSuffix("authorization") || lowered.hasPrefix("x-") || lowered.hasSuffix("cookie")
    }

    /// Names whose last words tell a secret; `tokens`, `max_tokens`, `keyboard` do not.
    private static func isSecretName(_ name: ArraySlice<UInt8>) -> Bool {
        let lowered = String(decoding: name, as: UTF8.self).lowercased()
        let joined = lowered.filter { $0 != "-" && $0 != "_" && $0 != "." }
        if exact.contains(joined) { return true }
        return endings.contains { joined.hasSuffix($0) }
    }

    private static let exact: Set<String> = [
        "pwd", "pass", "pw", "auth", "cookie", "setcookie", "bearer", "key", "pin", "otp",
    ]
    private static let endings: [String] = [
        "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "accesskeyid", "secretkey",
        "privatekey", "signingkey", "encryptionkey", "clientsecret", "credential", "credentials", "authorization",
        "authkey",
        "sessionid", "cookie", "userpass", "dbpass", "mysqlpwd", "pgpassword", "bearertoken", "licensekey", "sastoken",
    ]
}
