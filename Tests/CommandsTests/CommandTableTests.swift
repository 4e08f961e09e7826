import Basics
import Foundation
import Testing

@testable import Commands

struct CommandTableTests {
    private static func all(_ path: [String], _ spec: CommandSpec) -> [(path: [String], spec: CommandSpec)] {
        [(path, spec)] + spec.subcommands.flatMap { all(path + [$0.name], $0) }
    }

    private static let every = all([], CommandTable.root)
    /// The commands that the executable supplies.
    private static let external: Set<String> = [
        "serve", "doctor", "backup", "restore", "migrate", "discover", "demo-gateway", "outbox recover",
        "tls self-signed", "cluster key",
    ]

    @Test func `every command has a handler, here or in the executable`() {
        let leaves = Self.every.filter { $0.spec.subcommands.isEmpty && $0.spec.run == nil }
        #expect(Set(leaves.map { $0.path.joined(separator: " ") }) == Self.external)
    }

    @Test func `no command has two options of one name, and usual commands exist`() {
        for (path, spec) in Self.every {
            let names = spec.allOptions.map(\.name)
            #expect(Set(names).count == names.count, "\(path)")
            if let usual = spec.usual { #expect(spec.subcommands.contains { $0.name == usual }) }
            #expect(Set(spec.subcommands.map(\.name)).count == spec.subcommands.count)
        }
    }

    @Test func `help fits the width and names every option`() {
        for (path, spec) in Self.every {
            for width in [60, 80, 100] {
                let text = HelpText.text(path: path, spec: spec, width: width)
                for option in spec.allOptions where !path.isEmpty { #expect(text.contains(option.name)) }
                let lines = text.split(separator: "\n")
                let long = lines.filter {
                    $0.count > width && !$0.hasPrefix("  ladle ") && !$0.hasPrefix("Usage") && $0.contains("  ")
                }
                #expect(long.isEmpty, "\(path) \(width): \(long)")
            }
        }
    }

    @Test func `examples are command lines that parse`() throws {
        for (path, spec) in Self.every {
            for example in spec.examples {
                let command =
                    example.split(separator: "|").map { $0.drop { $0 == " " } }.first { $0.hasPrefix("ladle") } ?? ""
                let words = Self.words(String(command.prefix { $0 != ">" }))
                #expect(throws: Never.self, "\(path): \(example)") {
                    try CommandLineParser.parse(Array(words.dropFirst()))
                }
            }
        }
    }

    private static func words(_ line: String) -> [String] {
        var words = [""]
        var isQuoted = false
        for character in line {
            if character == "'" {
                isQuoted.toggle()
            } else if character == " ", !isQuoted {
                words.append("")
            } else {
                words[words.count - 1].append(character)
            }
        }
        return words.filter { !$0.isEmpty }
    }

    @Test func `the manual page has all commands and keeps roff's own characters apart`() {
        let page = ManualPage.text(version: "1.2.3")
        for (path, spec) in Self.every where spec.subcommands.isEmpty && !path.isEmpty && !spec.isHidden {
            #expect(
                page.contains(
                    ".SS ladle " + path.joined(separator: " ").split(separator: "-").joined(separator: "\\-")
                ),
                "\(path)"
            )
        }
        for line in page.split(separator: "\n") where line.hasPrefix(".") {
            let request = line.dropFirst().prefix { $0.isLetter }
            #expect(["TH", "SH", "SS", "TP", "B", "I", "PP", "nf", "fi", "nh", "ad"].contains(request), "\(line)")
        }
        #expect(!page.contains("'" + "\n."))
    }

    @Test func `completion scripts are made for three shells and no other`() {
        for shell in ["bash", "zsh", "fish"] {
            let script = Completions.script(shell) ?? ""
            #expect(script.contains("self-signed"))
            #expect(script.contains("token-file"))
        }
        #expect(Completions.script("tcsh") == nil)
    }

    @Test func `bash completes commands, options and words`() throws {
        for (line, expected) in [
            ("ladle st", ["status"]), ("ladle outbox re", ["retry", "recover"]),
            ("ladle serve --dem", ["--demo", "--demo-port", "--demo-protocol", "--demo-release", "--demo-speed"]),
            ("ladle outbox list --only fai", ["failed"]), ("ladle serve --log-level w", ["warning"]),
            ("ladle completions z", ["zsh"]),
        ] {
            let words = line.split(separator: " ").joined(separator: " ")
            guard let found = try Self.bash("COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]}-1))") else {
                return
            }
            #expect(Set(found) == Set(expected), "\(line)")
        }
    }

    @Test(
        arguments: [
            "x$(echo executed >&3)", "`echo executed >&3`", "x';echo executed >&3;'", "*", "~", "a b", "\\", "$HOME",
            "!!",
        ]
    )
    func `bash inserts a name as that name, and executes nothing in it`(name: String) throws {
        let offer = "ladle() { printf '%s\\n' \(Printable.argument(name)); }"
        for line in ["(ladle history --session '')", "(ladle token revoke '')"] {
            // The line that the completion makes is read by the shell once more.
            let read = """
                exec 3>&1; \(offer); COMP_WORDS=\(line); COMP_CWORD=$((${#COMP_WORDS[@]}-1))
                """
            let ending = "for each in \"${COMPREPLY[@]}\"; do eval \"printf '%s\\\\n' $each\"; done"
            guard let found = try Self.bash(read, ending: ending) else { return }
            #expect(found.contains(name) && !found.contains("executed"), "\(line): \(found)")
        }
    }

    /// The lines that bash prints after completing; nil without bash.
    private static func bash(
        _ setup: String,
        ending: String = "printf '%s\\n' \"${COMPREPLY[@]}\""
    ) throws -> [String]? {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = [
            "--norc", "-c", "\(try #require(Completions.script("bash")))\n\(setup)\n_ladle\n\(ending)",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        guard (try? process.run()) != nil else { return nil }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
