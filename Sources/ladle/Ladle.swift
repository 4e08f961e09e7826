import Basics

/// The program. Commands are looked up in one table; what serves stands in `Serve`.
@main
struct Ladle {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        ExitStatus.exit(await Program.run(arguments))
    }
}
