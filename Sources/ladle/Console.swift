import POSIX

/// Output of a command for people and the journal: whole lines, written at once, so that a pipe gets them too.
enum Console {
    static func say(_ text: String) { put(text + "\n") }

    static func put(_ text: String) { put(text, on: .output) }

    static func warn(_ text: String) { put("ladle: \(text)\n", on: .error) }

    static func put(_ text: String, on stream: StandardStream) { stream.write(Array(text.utf8)) }
}
