import TestSupport

/// Texts that break careless code: controls, wildcards, quotes, templates, code points that are no characters, long
/// ones.
enum HostileText {
    static let pieces = [
        "", "a", "main", "$SYS", "+", "#", "/", "//", "%", "%2", "%2F", "%~", "\u{0}", "\u{1B}[2J", "\n", "\r", "\t",
        "\"", "\\", "{{ 7 * 7 }}", "{% x %}", "}}", "'", "€", "\u{1F469}\u{200D}\u{1F680}", "\u{301}", "\u{85}",
        "\u{2028}", "\u{202E}", " ", "None", "null", "..", "agent:main:den",
        noCharacter(0xFFFE), noCharacter(0x10FFFF), noCharacter(0xFDD0), String(repeating: "x", count: 300),
        String(repeating: "\"", count: 300), String(repeating: "é", count: 600),
        String(repeating: "\u{1}", count: 400),
    ]

    /// Literals cannot have code points that are no characters.
    private static func noCharacter(_ value: UInt32) -> String { Unicode.Scalar(value).map { String($0) } ?? "" }

    static func make(_ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }
}
