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
        exit(await Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
