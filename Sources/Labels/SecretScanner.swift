import Basics

/// Masks values that the text before them marks as secret: `password=…`, `--token …`, `Authorization: Bearer …`,
/// `//user:password@`, PEM blocks.
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

    private var atWordStart: Bool { position == 0 || !Self.isNameByte(bytes[position - 1]) }

    private func byte(_ place: Int) -> UInt8? { place < bytes.count ? bytes[place] : nil }

    private func starts(with text: String, at place: Int) -> Bool { bytes[place...].starts(with: text.utf8) }

    /// The first place from `start` on whose byte does not fit.
    private func skip(_ start: Int, while fits: (UInt8) -> Bool) -> Int {
        bytes[min(start, bytes.count)...].firstIndex { !fits($0) } ?? bytes.count
    }

    private mutating func mask(while fits: (UInt8) -> Bool) {
        let end = skip(position, while: fits)
        if end > position { result += SecretMask.mark.utf8 }
        position = end
    }

    // MARK: names

    /// Copies a name, and masks its value if the name marks it as secret.
    private mutating func name() {
        let end = skip(position, while: Self.isNameByte)
        let name = bytes[position..<end]
        position = end
        if masksShortPassword, name.starts(with: "-p".utf8) { return shortPassword(name) }
        result += name
        if Self.userOptions.contains(where: { name.elementsEqual($0.utf8) }) { return userOption() }
        guard Self.isSecretName(name) else { return }
        let isOption = name.first == "-"
        var place = position
        if byte(place) == "\\" { place += 1 }
        if byte(place).map(Self.isQuote) ?? false { place += 1 }
        if !isOption { place = skip(place) { $0 == " " } }
        guard let sign = byte(place), sign == "=" || sign == ":" || (isOption && sign == " ") else { return }
        place = skip(place + 1) { $0 == " " }
        guard place < bytes.count else { return }
        result += bytes[position..<place]
        position = place
        if sign == ":", Self.isHeaderName(name) { headerValue() } else { value() }
    }

    /// `-u name:password`, `--user name:password`: the name stays.
    private mutating func userOption() {
        var end = skip(position) { $0 == " " || $0 == "=" || Self.isQuote($0) }
        end = skip(end) { $0 != ":" && !Self.endsValue($0) }
        guard byte(end) == ":" else { return }
        result += bytes[position...end]
        result += SecretMask.mark.utf8
        position = skip(end + 1) { !Self.endsValue($0) }
    }

    /// `-pPASSWORD`, `-p PASSWORD`.
    private mutating func shortPassword(_ name: ArraySlice<UInt8>) {
        result += "-p".utf8
        guard name.count == 2 else { return result += SecretMask.mark.utf8 }
        guard byte(position) == " " else { return }
        result += " ".utf8
        position += 1
        value()
    }

    // MARK: values

    /// Masks a value up to its closing quote, or up to a blank or a separator. Expansions stay.
    private mutating func value() {
        guard let first = byte(position), first != "$", first != "`" else { return }
        if first == "\\", let quote = byte(position + 1), Self.isQuote(quote) {
            result += [first, quote]
            position += 2
            quotedValue(closing: quote)
        } else if Self.isQuote(first) {
            result.append(first)
            position += 1
            quotedValue(closing: first)
        } else {
            mask { !Self.endsValue($0) }
        }
    }

    private mutating func quotedValue(closing: UInt8) {
        let start = position
        mask { $0 != closing && $0 != "\n" }
        if position > start, bytes[position - 1] == "\\" { result += "\\".utf8 }
    }

    /// Masks the rest of a header, but not the scheme.
    private mutating func headerValue() {
        let schemes = ["Bearer ", "Basic ", "Token ", "bearer ", "basic ", "token "]
        if let scheme = schemes.first(where: { starts(with: $0, at: position) }) {
            result += scheme.utf8
            position += scheme.utf8.count
        }
        if byte(position).map(Self.isQuote) ?? false { return value() }
        mask { !Self.isQuote($0) && $0 != "\n" && $0 != "\\" }
    }

    /// Masks the user info of an address.
    private mutating func authority() {
        result += "://".utf8
        position += 3
        let end = skip(position) { $0 != "/" && $0 != "?" && !Self.isBlankOrQuote($0) }
        guard let at = bytes[position..<end].lastIndex(where: { $0 == "@" }) else { return }
        result += SecretMask.mark.utf8
        position = at
    }

    private mutating func pem() {
        result += SecretMask.mark.utf8
        while position < bytes.count, !starts(with: "-----END ", at: position) { position += 1 }
        position = skip(position) { $0 != "\n" }
    }

    // MARK: bytes and names

    private static func isNameStart(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte == "_" || byte == "-"
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isNameStart(byte) || byte.isASCIIDigit || byte == "."
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == "\"" || byte == "'" }

    private static func isBlankOrQuote(_ byte: UInt8) -> Bool { byte <= 0x20 || isQuote(byte) }

    private static func endsValue(_ byte: UInt8) -> Bool {
        switch byte {
        case "&", ";", "|", ",", "}", ")": true
        default: isBlankOrQuote(byte)
        }
    }

    private static func isHeaderName(_ name: ArraySlice<UInt8>) -> Bool {
        let lowered = String(decoding: name, as: UTF8.self).lowercased()
        return lowered.hasSuffix("authorization") || lowered.hasPrefix("x-") || lowered.hasSuffix("cookie")
    }

    /// Names that end in a word for a secret; `tokens`, `max_tokens` and `keyboard` do not.
    private static func isSecretName(_ name: ArraySlice<UInt8>) -> Bool {
        let lowered = String(decoding: name, as: UTF8.self).lowercased()
        let joined = lowered.filter { $0 != "-" && $0 != "_" && $0 != "." }
        if exact.contains(joined) { return true }
        return endings.contains { joined.hasSuffix($0) }
    }

    private static let userOptions = ["-u", "--user", "--proxy-user", "-U"]

    private static let exact: Set<String> = [
        "pwd", "pass", "pw", "auth", "cookie", "setcookie", "bearer", "key", "pin", "otp",
    ]
    private static let endings: [String] = [
        "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "accesskeyid", "secretkey",
        "privatekey", "signingkey", "encryptionkey", "clientsecret", "credential", "credentials", "authorization",
        "authkey", "sessionid", "cookie", "userpass", "dbpass", "mysqlpwd", "pgpassword", "bearertoken", "licensekey",
        "sastoken",
    ]
}
