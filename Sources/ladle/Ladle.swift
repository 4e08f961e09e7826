import Commands

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The program. Commands are looked up in one table; what serves stands in `Serve`.
@main
struct Ladle {
    static func main() async {
        // They would be repaired otherwise, and name another file, or say something else.
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { break }
            if unsafe String(validatingCString: argument) == nil {
                Console.warn("\(CommandLine.arguments[index]) is not UTF-8")
                exit(ExitCode.usage.rawValue)
            }
        }
        exit(await Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
