import Basics

/// One DNS message (RFC 1035 §4). Reading checks the structure strictly and accepts unknown contents.
package struct DNSMessage: Sendable, Equatable {
    package var id: UInt16
    package var isResponse: Bool
    var isTruncated: Bool
    package var wantsRecursion: Bool
    /// The response code; 3 is "no such name".
    package var code: UInt8
    package var questions: [DNSQuestion]
    /// Answers, authority and additional records together, because any of them may hold the requested data.
    package var records: [DNSRecord]

    package init(
        id: UInt16 = 0,
        isResponse: Bool = false,
        isTruncated: Bool = false,
        wantsRecursion: Bool = false,
        code: UInt8 = 0,
        questions: [DNSQuestion] = [],
        records: [DNSRecord] = []
    ) {
        self.id = id
        self.isResponse = isResponse
        self.isTruncated = isTruncated
        self.wantsRecursion = wantsRecursion
        self.code = code
        self.questions = questions
        self.records = records
    }

    package enum ParseError: Error, Equatable, Sendable {
        case tooShort
        case tooManyRecords
        case malformedName(offset: Int)
        case malformedRecord(offset: Int)
    }

    /// A message of 64 KiB could claim 65,535 records of eleven bytes; a browse needs a few dozen.
    private static let mostRecords = 1024

    package init(parsing bytes: [UInt8]) throws(ParseError) {
        var reader = DNSReader(bytes)
        guard let id = reader.uint16(), let flags = reader.uint16(), let questionCount = reader.uint16(),
            let answers = reader.uint16(), let authorities = reader.uint16(), let additional = reader.uint16()
        else { throw .tooShort }
        let recordCount = Int(answers) + Int(authorities) + Int(additional)
        guard recordCount <= Self.mostRecords, questionCount <= 64 else { throw .tooManyRecords }
        self.id = id
        isResponse = flags & 0x8000 != 0
        isTruncated = flags & 0x0200 != 0
        wantsRecursion = flags & 0x0100 != 0
        code = UInt8(flags & 0x000F)
        questions = []
        records = []
        for _ in 0..<questionCount {
            let start = reader.position
            guard let name = reader.name() else { throw .malformedName(offset: start) }
            guard let type = reader.uint16(), reader.uint16() != nil else { throw .tooShort }
            if let known = DNSType(rawValue: type) { questions.append(DNSQuestion(name: name, type: known)) }
        }
        for _ in 0..<recordCount { records.append(try Self.record(&reader)) }
    }

    private static func record(_ reader: inout DNSReader) throws(ParseError) -> DNSRecord {
        let start = reader.position
        guard let name = reader.name() else { throw .malformedName(offset: start) }
        guard let type = reader.uint16(), reader.uint16() != nil, let life = reader.uint32(),
            let length = reader.uint16(), let end = reader.end(of: Int(length))
        else { throw .tooShort }
        let data = data(type, &reader, end: end)
        guard let data, reader.position == end else { throw .malformedRecord(offset: start) }
        return DNSRecord(name: name, timeToLive: life, data: data)
    }

    private static func data(_ type: UInt16, _ reader: inout DNSReader, end: Int) -> DNSRecord.Data? {
        switch DNSType(rawValue: type) {
        case .a, .aaaa:
            guard end - reader.position == (type == DNSType.a.rawValue ? 4 : 16) else { return nil }
            return reader.take(until: end).flatMap { NetworkAddress(bytes: $0) }.map { .address($0) }
        case .ptr:
            return reader.name().map { .pointer($0) }
        case .srv:
            guard let priority = reader.uint16(), let weight = reader.uint16(), let port = reader.uint16(),
                let target = reader.name()
            else { return nil }
            return .service(priority: priority, weight: weight, port: port, target: target)
        case .txt:
            var strings: [[UInt8]] = []
            while reader.position < end {
                guard let length = reader.uint8(), reader.position + Int(length) <= end,
                    let string = reader.take(until: reader.position + Int(length))
                else { return nil }
                strings.append(Array(string))
            }
            return .text(strings)
        case nil:
            _ = reader.take(until: end)
            return .other(type: type)
        }
    }

    /// The message as bytes, without compression: queries are small, and test responders stay simple.
    package var bytes: [UInt8] {
        var out: [UInt8] = []
        var flags: UInt16 = UInt16(code & 0x0F)
        if isResponse { flags |= 0x8400 }
        if isTruncated { flags |= 0x0200 }
        if wantsRecursion { flags |= 0x0100 }
        for word in [id, flags, UInt16(clamping: questions.count), UInt16(clamping: records.count), 0, 0] {
            Self.append(word, to: &out)
        }
        for question in questions {
            Self.append(question.name, to: &out)
            Self.append(question.type.rawValue, to: &out)
            Self.append(1, to: &out)
        }
        for record in records { Self.append(record, to: &out) }
        return out
    }

    private static func append(_ record: DNSRecord, to out: inout [UInt8]) {
        append(record.name, to: &out)
        var data: [UInt8] = []
        let type: UInt16
        switch record.data {
        case .address(let address):
            type = (address.isIPv4 ? DNSType.a : .aaaa).rawValue
            data = address.bytes
        case .pointer(let name):
            type = DNSType.ptr.rawValue
            append(name, to: &data)
        case .service(let priority, let weight, let port, let target):
            type = DNSType.srv.rawValue
            for word in [priority, weight, port] { append(word, to: &data) }
            append(target, to: &data)
        case .text(let strings):
            type = DNSType.txt.rawValue
            for string in strings {
                data.append(UInt8(clamping: string.count))
                data.append(contentsOf: string.prefix(255))
            }
        case .other(let number):
            type = number
        }
        append(type, to: &out)
        append(1, to: &out)
        append(UInt16(truncatingIfNeeded: record.timeToLive >> 16), to: &out)
        append(UInt16(truncatingIfNeeded: record.timeToLive), to: &out)
        append(UInt16(clamping: data.count), to: &out)
        out.append(contentsOf: data)
    }

    private static func append(_ name: DNSName, to out: inout [UInt8]) {
        for label in name.labels {
            out.append(UInt8(clamping: label.count))
            out.append(contentsOf: label)
        }
        out.append(0)
    }

    private static func append(_ word: UInt16, to out: inout [UInt8]) {
        out.append(UInt8(word >> 8))
        out.append(UInt8(truncatingIfNeeded: word))
    }
}
