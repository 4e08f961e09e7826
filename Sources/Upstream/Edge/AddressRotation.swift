/// The order in which the addresses of a host are tried. An address that swallows packets uses up the whole time of an
/// attempt, so the next attempt starts with another address.
struct AddressRotation {
    private var attempts = 0

    mutating func order<Address>(_ found: [Address]) -> [Address] {
        guard !found.isEmpty else { return found }
        let first = attempts % found.count
        attempts += 1
        return Array(found[first...] + found[..<first])
    }

    /// The attempt succeeded, so the next one starts with the same address.
    mutating func opened() { attempts -= attempts > 0 ? 1 : 0 }
}
