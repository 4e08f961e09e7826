import Configuration
import JSONBytes

/// A text is either refused or becomes JSON that the strict reader takes.
@c(LLVMFuzzerTestOneInput)
package func fuzzJSON5(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    do throws(JSON5Error) {
        let text = try JSON5Text(parsing: bytes)
        _ = text.position(of: text.root)
        guard (try? JSON5Text(parsing: text.json))?.json == text.json else { fatalError("its JSON reads differently") }
        var sources = SettingsSources()
        sources.file = SettingsSources.File(path: "f", bytes: bytes)
        _ = sources.resolved()
    } catch {
        guard error.position.line >= 1, error.position.column >= 1, !error.message.isEmpty else {
            fatalError("no place")
        }
    }
    return 0
}
