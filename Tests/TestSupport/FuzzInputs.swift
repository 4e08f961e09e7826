#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The seeds and findings of a fuzz driver, for the test that replays them.
package struct FuzzInput: Sendable, CustomStringConvertible {
    package var name: String
    package var bytes: [UInt8]

    package var description: String { name }

    /// The files of `Tests/Fuzz/Corpus/DRIVER` and `Tests/Fuzz/Crashers/DRIVER`.
    package static func all(of driver: String, testFile: String = #filePath) -> [FuzzInput] {
        // This file is Tests/TestSupport/FuzzInputs.swift, wherever the package lies.
        let tests = testFile.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/")
        return ["Corpus", "Crashers"].flatMap { folder -> [FuzzInput] in
            let path = "\(tests)/Fuzz/\(folder)/\(driver)"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            return names.sorted().compactMap { name in
                FileManager.default.contents(atPath: "\(path)/\(name)").map {
                    FuzzInput(name: "\(folder)/\(driver)/\(name)", bytes: Array($0))
                }
            }
        }
    }
}
