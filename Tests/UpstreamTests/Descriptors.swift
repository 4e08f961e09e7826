import POSIX

/// How many of the first thousand descriptors are open.
enum Descriptors {
    static func open() -> Int { Int(CurrentProcess.usage.openDescriptors) }
}
