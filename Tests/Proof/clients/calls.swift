// Every operation through the Swift client of openapi-generator: the calls that compiled.py writes, one a line.
import Foundation

struct OneCall: Decodable {
    let operation: String
    let parameters: [String: JSONValue]
    let body: JSONValue

    /// A parameter, or the body where it has no name. A file is meant by its path.
    func may<T: Decodable>(_ name: String, _ type: T.Type) throws -> T? {
        guard let value = name.isEmpty ? body : parameters[name], value != .null else { return nil }
        if T.self == URL.self, case .string(let path) = value { return URL(fileURLWithPath: path) as? T }
        return try CodableHelper().jsonDecoder.decode([T].self, from: JSONEncoder().encode([value]))[0]
    }

    func must<T: Decodable>(_ name: String, _ type: T.Type) throws -> T {
        guard let value = try may(name, type) else { throw Missing(name: name) }
        return value
    }
}

struct Missing: Error {
    let name: String
}

let told = #"{"typed": null}"#

func told(_ answer: some Encodable) throws -> String {
    let text = try CodableHelper().jsonEncoder.encode(["typed": answer])
    return String(decoding: text, as: UTF8.self).replacing("\n", with: "")
}

func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

@main
enum Calls {
    static func main() async throws {
        let environment = ProcessInfo.processInfo.environment
        let configuration = OpenAPIClientAPIConfiguration.shared
        configuration.basePath = environment["LADLE_URL"] ?? ""
        configuration.customHeaders["Authorization"] = "Bearer \(environment["LADLE_TOKEN"] ?? "")"
        while let line = readLine() {
            do {
                let step = try JSONDecoder().decode(OneCall.self, from: Data(line.utf8))
                do {
                    say(try await call(step))
                } catch ErrorResponse.error(_, let data?, _, _) {
                    say(try told(CodableHelper().jsonDecoder.decode(Problem.self, from: data)))
                }
            } catch {
                say(String(decoding: try JSONEncoder().encode(["fault": "\(error)"]), as: UTF8.self))
            }
        }
    }
}
