import CSystem
import Configuration

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// From arguments to a command.
enum Program {
    static func run(_ arguments: [String]) async -> ExitStatus {
        switch arguments.first {
        case "serve": return await serve(Array(arguments.dropFirst()))
        case "version", "--version":
            Console.say("ladle \(Version.text)")
            return .ok
        default:
            Console.warn("usage: ladle serve [--demo] [--listen HOST:PORT] [--state DIR]")
            return .usage
        }
    }

    private static func serve(_ arguments: [String]) async -> ExitStatus {
        let places = SettingsPlaces(environment: environment)
        var sources = SettingsSources()
        sources.environment = environment
        do {
            sources.flags = try ConfigurationFlags.parse(arguments)
            if let path = places.configFile, let bytes = try? TextFile.read(path) {
                sources.file = SettingsSources.File(path: path, bytes: bytes)
            }
        } catch {
            Console.warn("\(error)")
            return .usage
        }
        let (settings, problems) = sources.resolved()
        guard problems.isEmpty else {
            for problem in problems { Console.warn("\(problem)") }
            return .configuration
        }
        return await ServeCommand.run(settings, places: places)
    }

    static let environment: [String: String] = {
        var result: [String: String] = [:]
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let text = unsafe String(cString: entry)
            if let equals = text.firstIndex(of: "=") {
                result[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            unsafe next += 1
        }
        return result
    }()
}
