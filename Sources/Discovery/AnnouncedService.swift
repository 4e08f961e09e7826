/// The services that Ladle looks for, by their names in DNS-SD.
package enum AnnouncedService: String, Sendable {
    case gateway = "_openclaw-gw._tcp"
    case ladle = "_ladle._tcp"
}
