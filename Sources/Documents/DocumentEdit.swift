/// Turns new field values into replaced, removed and added lines, and these into the new file.
struct DocumentEdit {
    private let scan: DocumentScan
    private let lineEnd: [UInt8]
    private var changes: [Int: Change] = [:]
    private var additions: [Int: [[UInt8]]] = [:]
    /// The places and styles of fields that the file did not have.
    private var placed: [DocumentField: (before: Int, style: FieldLine.Style)] = [:]

    private enum Change {
        case replaced([UInt8])
        case removed
    }

    init(_ scan: DocumentScan) {
        self.scan = scan
        lineEnd = scan.lines.lineEnd
    }

    /// `wanted` holds canonical values that differ from those of the file; an empty one clears its field.
    func applying(_ wanted: [DocumentField: String]) -> [UInt8] {
        if (0..<scan.lines.count).allSatisfy({ scan.lines.isBlank($0) }) { return newFile(wanted) }
        var plan = self
        var unplaced: [(DocumentField, String)] = []
        for field in scan.kind.fields where field != .context {
            guard let value = wanted[field] else { continue }
            if let first = scan.occurrences.first(where: { $0.form.field == field }) {
                plan.rewrite(first, value)
            } else if let place = plan.place(of: field) {
                plan.placed[field] = place
                plan.additions[place.before, default: []] += plan.lines(field, value, place.style)
            } else {
                unplaced.append((field, value))
            }
        }
        if !unplaced.isEmpty { plan.addGroup(unplaced) }
        if let value = wanted[.context] { plan.writeContext(value) }
        return plan.assembled()
    }

    // MARK: Fields

    private mutating func rewrite(_ first: DocumentScan.Occurrence, _ value: String) {
        let form = first.form
        var content = Array(scan.lines.bytes[form.head])
        let items = items(of: value)
        if items.count == 1 { content += [0x20] + Array(value.utf8) }
        for comment in form.comments { content += [0x20] + scan.lines.bytes[comment] }
        if items.count > 1 { content += list(items, indent: leadingSpace(content)) }
        // Otherwise the lines below this label would now be read as its value.
        if items.count != 1, scan.continues(form, first.after) { content += lineEnd }
        changes[first.line] = .replaced(content)
        for line in first.line + 1..<first.after { changes[line] = .removed }
        for other in scan.occurrences where other.form.field == form.field && other.line != first.line {
            for line in other.line..<other.after { changes[line] = .removed }
            // A comment is not part of the value, so it stays; it may end on a later line.
            let comments = other.form.comments.map { Array(scan.lines.bytes[$0]) }
            if !comments.isEmpty { changes[other.line] = .replaced(Array(comments.joined(separator: [0x20]))) }
        }
    }

    /// After the nearest earlier field, else before the first one.
    private func place(of field: DocumentField) -> (before: Int, style: FieldLine.Style)? {
        let order = scan.kind.fields
        for earlier in order.prefix(while: { $0 != field }).reversed() {
            if let place = placed[earlier] { return place }
            if let occurrence = scan.occurrences.first(where: { $0.form.field == earlier }) {
                return (endOfChildren(of: occurrence), occurrence.form.style(scan.lines.bytes))
            }
        }
        return scan.occurrences.first.map { ($0.line, $0.form.style(scan.lines.bytes)) }
    }

    private func endOfChildren(of occurrence: DocumentScan.Occurrence) -> Int {
        var index = occurrence.after
        while index < scan.lines.count {
            let start = scan.lines[index].start
            let first = scan.lines.firstNonBlank(index)
            let isInside = scan.isInsideBlock(index)
            let isChild =
                first < scan.lines[index].end
                && FieldLine.columns(scan.lines.bytes, start..<first) >= occurrence.form.indent + 2
                && MarkdownBlock.heading(scan.lines, index) == nil
                && !scan.isOccurrence(index)
            guard isInside || isChild else { break }
            index += 1
        }
        return index
    }

    /// Adds fields to a file that has none: under its title, else at the top.
    private mutating func addGroup(_ fields: [(DocumentField, String)]) {
        var place = scan.bodyStart
        var needsBlank = scan.bodyStart > 0
        if let title = scan.title {
            place = title + 1
            while place < scan.lines.count, scan.isInsideBlock(place) { place += 1 }
            needsBlank = true
        }
        if needsBlank, place < scan.lines.count, scan.lines.isBlank(place) {
            place += 1
            needsBlank = false
        }
        var group: [[UInt8]] = needsBlank ? [[]] : []
        for (field, value) in fields { group += lines(field, value, .standard) }
        if place < scan.lines.count, !scan.lines.isBlank(place) { group.append([]) }
        additions[place, default: []] += group
    }

    private func lines(_ field: DocumentField, _ value: String, _ style: FieldLine.Style) -> [[UInt8]] {
        guard !value.isEmpty else { return [] }
        let label = style.lead + Array(field.label.utf8) + style.trail
        let items = items(of: value)
        return items.count == 1
            ? [label + [0x20] + Array(value.utf8)]
            : [label + list(items, indent: leadingSpace(style.lead))]
    }

    private func list(_ items: [Substring], indent: [UInt8]) -> [UInt8] {
        items.reduce(into: []) { bytes, item in
            bytes += lineEnd + indent + Array("  -".utf8)
            if !item.isEmpty { bytes += [0x20] + Array(item.utf8) }
        }
    }

    private func items(of value: String) -> [Substring] {
        value.isEmpty ? [] : value.split(separator: "\n", omittingEmptySubsequences: false)
    }

    private func leadingSpace(_ bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix { $0 == 0x20 || $0 == 0x09 }) }

    // MARK: Context

    private mutating func writeContext(_ value: String) {
        let lines = contextLines(value)
        guard let section = scan.context else {
            let endsBlank = scan.lines.isBlank(scan.lines.count - 1)
            additions[scan.lines.count, default: []] +=
                (endsBlank ? [] : [[]]) + [Array("## Context".utf8), []] + lines
            return
        }
        if section.content.isEmpty {
            var place = section.heading + 1
            while place < scan.lines.count, scan.isInsideBlock(place) { place += 1 }
            let hasBlank = place < scan.lines.count && scan.lines.isBlank(place)
            if hasBlank { place += 1 }
            let needsBlankAfter = place < scan.lines.count && !scan.lines.isBlank(place)
            additions[place, default: []] += (hasBlank ? [] : [[]]) + lines + (needsBlankAfter ? [[]] : [])
            return
        }
        for line in section.content { changes[line] = .removed }
        if value.isEmpty {
            guard scan.lines.isBlank(section.content.lowerBound - 1) else { return }
            var line = section.content.upperBound
            while line < section.end, scan.lines.isBlank(line) {
                changes[line] = .removed
                line += 1
            }
        } else {
            changes[section.content.lowerBound] = .replaced(Array(lines.joined(separator: lineEnd)))
        }
    }

    private func contextLines(_ value: String) -> [[UInt8]] {
        items(of: value).map { Array($0.utf8) }
    }

    // MARK: The new file

    private func newFile(_ wanted: [DocumentField: String]) -> [UInt8] {
        var lines: [[UInt8]] = [Array(scan.kind.title.utf8), []]
        for field in scan.kind.fields where field != .context {
            lines += self.lines(field, wanted[field] ?? "", .standard)
        }
        if let context = wanted[.context], !context.isEmpty {
            if lines.count > 2 { lines.append([]) }
            lines += [Array("## Context".utf8), []] + contextLines(context)
        }
        return scan.lines.bytes[..<scan.lines.prefix] + Array(lines.joined(separator: lineEnd)) + lineEnd
    }

    private func assembled() -> [UInt8] {
        let source = scan.lines
        var result: [UInt8] = []
        result.reserveCapacity(source.bytes.count + 1024)
        var copied = 0
        for index in Set(changes.keys).union(additions.keys).sorted() {
            let offset = source.offset(before: index)
            result += source.bytes[copied..<offset]
            copied = offset
            if let added = additions[index], !added.isEmpty {
                // If the last line has no line end, it gets one, and the new last line has none.
                let isOpen = result.count > source.prefix && result.last != 0x0A
                if isOpen { result += lineEnd }
                result += added.joined(separator: lineEnd)
                if !isOpen { result += lineEnd }
            }
            guard let change = changes[index] else { continue }
            let next = source.next(index)
            if case .replaced(let content) = change { result += content + source.bytes[source[index].end..<next] }
            copied = next
        }
        result += source.bytes[copied...]
        return result
    }
}
