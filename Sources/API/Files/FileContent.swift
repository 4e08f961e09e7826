import HTTPModel

/// The type of a file by its own first bytes. Nobody's word counts for it: a page that was said to be a picture must not open as a page.
/// A file of another form gets no type, and can only be kept.
enum FileContent {
    static func type(_ bytes: [UInt8]) -> MediaType? {
        picture(bytes) ?? film(bytes) ?? audio(bytes) ?? (bytes.starts(with: Array("%PDF-".utf8)) ? .pdf : text(bytes))
    }

    private static func picture(_ bytes: [UInt8]) -> MediaType? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) { return .gif }
        return has("WEBP", in: bytes) ? .webp : nil
    }

    /// An ISO file (ISO/IEC 14496-12 §4.3) whose brand is none of sound alone.
    private static func film(_ bytes: [UInt8]) -> MediaType? {
        guard let brand = brand(of: bytes) else { return nil }
        return brand.hasPrefix("M4A") || brand.hasPrefix("M4B") ? nil : .mp4
    }

    /// - Returns: nil if the bytes are no sound of a known form.
    static func audio(_ bytes: [UInt8]) -> MediaType? {
        if bytes.starts(with: Array("ID3".utf8)) { return .mp3 }
        if bytes.starts(with: Array("OggS".utf8)) { return .ogg }
        if bytes.starts(with: Array("fLaC".utf8)) { return .flac }
        if has("WAVE", in: bytes) { return .wav }
        if brand(of: bytes) != nil { return .audioMP4 }
        // The header of a WebM file (RFC 8794 §11.2.1).
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .audioWebM }
        // A frame of MPEG sound: eleven bits of one, then version and layer. A layer of 0 is that of AAC.
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        if bytes[1] & 0xF6 == 0xF0 { return .aac }
        let (version, layer, rate) = (bytes[1] >> 3 & 3, bytes[1] >> 1 & 3, bytes[2] >> 4)
        return version != 1 && layer != 0 && rate != 15 ? .mp3 : nil
    }

    /// UTF-8 without control characters other than tabs and line ends.
    private static func text(_ bytes: [UInt8]) -> MediaType? {
        let isControl = { (byte: UInt8) in byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0D || byte == 0x7F }
        guard !bytes.contains(where: isControl) else { return nil }
        return String(validating: bytes, as: UTF8.self) == nil ? nil : .plain
    }

    /// Whether it is a RIFF file of this form.
    private static func has(_ form: String, in bytes: [UInt8]) -> Bool {
        bytes.count >= 12 && bytes.starts(with: Array("RIFF".utf8)) && bytes[8..<12].elementsEqual(form.utf8)
    }

    private static func brand(of bytes: [UInt8]) -> String? {
        guard bytes.count >= 12, bytes[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        return String(decoding: bytes[8..<12], as: UTF8.self)
    }
}
