import Basics

/// Replaces possible credentials by `•••`. Every label and detail passes through here before it leaves this target.
package enum SecretMask {
    static let mark = "•••"

    /// Runs at least this long that mix letters and digits count as tokens.
    private static let runLength = 24

    /// A file, host or package name: dates and words joined by dashes stay readable, tokens do not.
    package static func name(_ text: String) -> String {
        guard text.utf8.count >= 12 else { return text }
        return maskRuns(text, isSecret: looksLikeToken)
    }

    /// Quoted text: every long run of letters and digits is masked.
    static func quoted(_ text: String) -> String {
        guard text.utf8.count >= 12 else { return text }
        return maskRuns(text) { run in (run.count >= runLength && isMixed(run)) || hasTokenPrefix(run) }
    }

    /// Commands, addresses and error texts: named values, headers, user info and long runs are masked.
    package static func text(_ text: String) -> String {
        var scanner = SecretScanner(text)
        return maskRuns(scanner.masked(), isSecret: looksLikeToken)
    }

    private static func looksLikeToken(_ run: ArraySlice<UInt8>) -> Bool {
        if hasTokenPrefix(run) { return true }
        guard run.count >= runLength, isMixed(run) else { return false }
        return run.split(whereSeparator: isJoiner).contains { $0.count >= 5 && isMixed($0) }
    }

    /// Prefixes of providers' keys, with at least eight characters after them.
    private static func hasTokenPrefix(_ run: ArraySlice<UInt8>) -> Bool {
        prefixes.contains { run.count >= $0.count + 8 && run.starts(with: $0) }
    }

    private static func isMixed(_ run: ArraySlice<UInt8>) -> Bool {
        run.contains { $0.isASCIIDigit } && run.contains { $0.isASCIILetter }
    }

    private static func isJoiner(_ byte: UInt8) -> Bool { !byte.isASCIILetter && !byte.isASCIIDigit }

    private static func isRunByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == "-" || byte == "_" || byte == "+" || byte == "="
    }

    private static func maskRuns(_ text: String, isSecret: (ArraySlice<UInt8>) -> Bool) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var position = 0
        var changed = false
        while position < bytes.count {
            var end = position
            while end < bytes.count, isRunByte(bytes[end]) { end += 1 }
            if end > position {
                // `name=value` is two runs: the name stays readable.
                let run = bytes[position..<end]
                let split = run.firstIndex { $0 == "=" }.map { $0 + 1 } ?? position
                if split < end, split > position, isSecret(bytes[split..<end]), !isSecret(bytes[position..<split - 1]) {
                    result += bytes[position..<split]
                    result += mark.utf8
                    changed = true
                } else if isSecret(run) {
                    result += mark.utf8
                    // The three parts of a JWT are joined by dots; all are masked.
                    while end < bytes.count, bytes[end] == ".", run.starts(with: "eyJ".utf8) {
                        end += 1
                        while end < bytes.count, isRunByte(bytes[end]) { end += 1 }
                    }
                    changed = true
                } else {
                    result += run
                }
                position = end
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return changed ? String(decoding: result, as: UTF8.self) : text
    }

    private static let prefixes: [[UInt8]] = [
        "sk-", "sk_live_", "sk_test_", "pk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
        "glpat-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-", "AKIA", "ASIA", "AIza", "ya29", "eyJ", "hf_",
        "npm_", "pypi-", "dop_v1_", "shpat_", "tskey-", "whsec_", "lin_api_", "secret_", "gsk_", "xai-",
        "AGE-SECRET-KEY-",
    ].map { Array($0.utf8) }
}
