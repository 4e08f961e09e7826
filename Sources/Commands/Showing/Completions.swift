import Configuration

/// Completion scripts, made from the table: names of commands and options, words of values, files.
package enum Completions {
    package static func script(_ shell: String) -> String? {
        switch shell {
        case "bash": bash()
        case "zsh": zsh()
        case "fish": fish()
        default: nil
        }
    }

    private struct Node {
        let path: [String]
        let spec: CommandSpec

        /// All options that may follow. The options of `serve` are all settings.
        var optionNames: [String] {
            let keys = spec.takesConfiguration ? ConfigurationTable.keys.map { $0.shortFlag ?? $0.flag } : []
            return spec.allOptions.map(\.name) + keys
        }
    }

    private static func nodes() -> [Node] {
        func below(_ path: [String], _ spec: CommandSpec) -> [Node] {
            [Node(path: path, spec: spec)] + spec.visibleSubcommands.flatMap { below(path + [$0.name], $0) }
        }
        return below([], CommandTable.root)
    }

    private static func words(_ node: Node) -> [String] {
        var words = node.spec.visibleSubcommands.map(\.name)
        for argument in node.spec.arguments { if case .words(let values) = argument.values { words += values } }
        if node.path == ["help"] { words += CommandTable.root.visibleSubcommands.map(\.name) }
        return words
    }

    /// The words of an option's value, or the fact that it is a file.
    private static func values(_ node: Node) -> [(option: String, values: OptionSpec.Values)] {
        let settings: [(String, OptionSpec.Values)] =
            node.spec.takesConfiguration
            ? ConfigurationTable.keys.flatMap { key -> [(String, OptionSpec.Values)] in
                let names = [key.shortFlag, key.flag].compactMap(\.self)
                switch key.kind {
                case .choice(let words): return names.map { ($0, .words(words)) }
                case .path, .secretFile: return names.map { ($0, .files) }
                case .bool: return []
                default: return names.map { ($0, .any) }
                }
            } : []
        return node.spec.allOptions.filter { $0.value != nil && !$0.valueIsOptional }.map { ($0.name, $0.values) }
            + settings
    }

    /// The list of an argument's words, known only to the running server.
    private static func listed(_ node: Node) -> ListedNames? {
        node.spec.arguments.lazy.compactMap { if case .listed(let names) = $0.values { names } else { nil } }.first
    }

    private static func ask(_ names: ListedNames) -> String { "ladle complete \(names.rawValue) 2>/dev/null" }

    /// Names from the server are data to the shell: read line by line, compared as text and quoted for the line they
    /// are inserted into. `compgen -W` would expand them, and so execute what stands in a name. Without `mapfile`, which
    /// the bash of macOS lacks.
    private static func bash() -> String {
        var text = """
            # bash completion for ladle
            _ladle_offer() {
                local offered
                for offered in "$@"; do
                    [[ $offered == "$word"* ]] || continue
                    printf -v offered %q "$offered"
                    COMPREPLY+=("$offered")
                done
            }
            _ladle_ask() {
                local name
                while IFS= read -r name; do _ladle_offer "$name"; done < <(ladle complete "$1" 2>/dev/null)
            }
            _ladle() {
                local word previous path index
                word=${COMP_WORDS[COMP_CWORD]}
                previous=${COMP_WORDS[COMP_CWORD-1]}
                path=
                COMPREPLY=()
                for ((index = 1; index < COMP_CWORD; index++)); do
                    case "$path ${COMP_WORDS[index]}" in

            """
        for node in nodes().dropFirst() { text += "        '\(dashed(node.path))') path='\(dashed(node.path))' ;;\n" }
        text += "        esac\n    done\n    case \"$path:$previous\" in\n"
        for node in nodes() {
            for (option, values) in values(node) {
                let action: String
                switch values {
                case .words(let words): action = "_ladle_offer \(words.joined(separator: " "))"
                case .listed(let names): action = "_ladle_ask \(names.rawValue)"
                case .files: action = "compopt -o default 2>/dev/null"
                case .any: action = ":"
                }
                text += "    '\(dashed(node.path)):\(option)') \(action); return ;;\n"
            }
        }
        text += "    esac\n    case \"$path\" in\n"
        for node in nodes() {
            let all = (words(node) + node.optionNames).joined(separator: " ")
            let asked = listed(node).map { "; _ladle_ask \($0.rawValue)" } ?? ""
            text += "    '\(dashed(node.path))') _ladle_offer \(all)\(asked) ;;\n"
        }
        return text + "    esac\n}\ncomplete -o bashdefault -F _ladle ladle\n"
    }

    private static func dashed(_ path: [String]) -> String { path.map { " " + $0 }.joined() }

    /// In zsh `path` is the search path itself, so the variable has another name.
    private static func zsh() -> String {
        var text = """
            #compdef ladle
            _ladle() {
                local place index word previous
                place=
                for ((index = 2; index < CURRENT; index++)); do
                    word="$place $words[index]"
                    case "$word" in

            """
        for node in nodes().dropFirst() { text += "        '\(dashed(node.path))') place='\(dashed(node.path))' ;;\n" }
        text += "        esac\n    done\n    previous=$words[CURRENT-1]\n    case \"$place:$previous\" in\n"
        for node in nodes() {
            for (option, values) in values(node) {
                let action: String
                switch values {
                case .words(let words): action = "compadd -- \(words.joined(separator: " "))"
                case .listed(let names): action = "compadd -- ${(f)\"$(\(ask(names)))\"}"
                case .files: action = "_files"
                case .any: action = "_message value"
                }
                text += "    '\(dashed(node.path)):\(option)') \(action); return ;;\n"
            }
        }
        text += "    esac\n    case \"$place\" in\n"
        for node in nodes() {
            let all = (words(node) + node.optionNames).joined(separator: " ")
            let asked = listed(node).map { " ${(f)\"$(\(ask($0)))\"}" } ?? ""
            text += "    '\(dashed(node.path))') compadd -- \(all)\(asked) ;;\n"
        }
        return text + "    esac\n}\n_ladle \"$@\"\n"
    }

    private static func fish() -> String {
        var text = """
            # fish completion for ladle
            complete -c ladle -f
            function __ladle_at
                set -l place
                for word in (commandline -opc)[2..-1]
                    contains -- "$place $word" $__ladle_places; and set place "$place $word"
                end
                test "$place" = "$argv"
            end
            set -g __ladle_places \(nodes().dropFirst().map { "'\(dashed($0.path))'" }.joined(separator: " "))

            """
        for node in nodes() {
            let condition = "-n '__ladle_at \"\(dashed(node.path))\"'"
            for subcommand in node.spec.visibleSubcommands {
                text += "complete -c ladle \(condition) -a \(subcommand.name) -d '\(quoted(subcommand.summary))'\n"
            }
            for word in words(node).dropFirst(node.spec.visibleSubcommands.count) {
                text += "complete -c ladle \(condition) -a \(word)\n"
            }
            if let names = listed(node) { text += "complete -c ladle \(condition)\(parameter(.listed(names)))\n" }
            for option in node.spec.allOptions {
                text += "complete -c ladle \(condition) -l \(option.name.dropFirst(2)) -d '\(quoted(option.summary))'"
                text += parameter(option.value == nil || option.valueIsOptional ? nil : option.values) + "\n"
            }
            guard node.spec.takesConfiguration else { continue }
            for key in ConfigurationTable.keys {
                let flag = key.shortFlag ?? key.flag
                text += "complete -c ladle \(condition) -l \(flag.dropFirst(2)) -d '\(quoted(key.summary))'"
                let values = values(node).first { $0.option == flag }?.values
                text += parameter(values) + "\n"
            }
        }
        return text
    }

    private static func parameter(_ values: OptionSpec.Values?) -> String {
        switch values {
        case .none: ""
        case .any: " -x"
        case .listed(let names): " -x -a '(type -q ladle; and \(ask(names)))'"
        case .files: " -r -F"
        case .words(let words): " -x -a '\(words.joined(separator: " "))'"
        }
    }

    private static func quoted(_ text: String) -> String {
        text.map { $0 == "'" ? "\\'" : $0 == "\\" ? "\\\\" : String($0) }.joined()
    }
}
