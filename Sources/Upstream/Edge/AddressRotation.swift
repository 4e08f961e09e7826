/// In which order the addresses of a host are tried. One that swallows packets takes an attempt's whole time, and the next
/// attempt must not begin with it again.
struct AddressRotation {
    private var attempts = 0

    mutating func order<Address>(_ found: [Address]) -> [Address] {
        guard !found.isEmpty else { return found }
        let first = attempts % found.count
        attempts += 1
        return Array(found[first...] + found[..<first])
    }

    /// The address that was first is a good one.
    mutating func opened() { attempts -= attempts > 0 ? 1 : 0 }
}
