/// The modules of a QR code: the fixed patterns, the codewords in their zigzag, and a mask over these.
struct QRDrawing {
    private(set) var dark: [[Bool]]
    /// Modules of fixed patterns, which no mask changes.
    private var isFixed: [[Bool]]
    private let version: Int

    private var size: Int { dark.count }

    init(version: Int, _ codewords: [UInt8]) {
        self.version = version
        let size = version * 4 + 17
        dark = [[Bool]](repeating: [Bool](repeating: false, count: size), count: size)
        isFixed = dark
        drawPatterns()
        drawFormat(0)
        drawVersion()
        draw(codewords)
    }

    func masked(_ mask: Int, format: Int) -> QRDrawing {
        var copy = self
        for row in 0..<size {
            for column in 0..<size where !isFixed[row][column] && Self.covers(mask, row, column) {
                copy.dark[row][column].toggle()
            }
        }
        copy.drawFormat(format)
        return copy
    }

    private static func covers(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    // MARK: Fixed patterns

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        dark[row][column] = isDark
        isFixed[row][column] = true
    }

    private mutating func drawPatterns() {
        for place in 0..<size {
            fix(6, place, place % 2 == 0)
            fix(place, 6, place % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawFinder(row, column) }
        let places = alignmentPlaces
        for row in places {
            for column in places {
                let isFinder = row == 6 && (column == 6 || column == size - 7) || row == size - 7 && column == 6
                if !isFinder { drawAlignment(row, column) }
            }
        }
    }

    /// Draws a finder pattern with its light border.
    private mutating func drawFinder(_ row: Int, _ column: Int) {
        for down in -4...4 {
            for right in -4...4 {
                let (y, x) = (row + down, column + right)
                guard (0..<size).contains(y), (0..<size).contains(x) else { continue }
                let distance = max(abs(down), abs(right))
                fix(y, x, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawAlignment(_ row: Int, _ column: Int) {
        for down in -2...2 {
            for right in -2...2 { fix(row + down, column + right, max(abs(down), abs(right)) != 1) }
        }
    }

    /// The rows and columns of the alignment patterns' centres (annex E of the standard), evenly spread from the last
    /// one back.
    private var alignmentPlaces: [Int] {
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        let step = (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { size - 7 - step * $0 }.reversed()
    }

    /// Draws correction and mask, twice, each with ten bits of a BCH code.
    private mutating func drawFormat(_ format: Int) {
        var rest = format
        for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
        let bits = (format << 10 | rest) ^ 0x5412
        func bit(_ place: Int) -> Bool { bits >> place & 1 == 1 }
        for place in 0...5 { fix(place, 8, bit(place)) }
        fix(7, 8, bit(6))
        fix(8, 8, bit(7))
        fix(8, 7, bit(8))
        for place in 9..<15 { fix(8, 14 - place, bit(place)) }
        for place in 0..<8 { fix(8, size - 1 - place, bit(place)) }
        for place in 8..<15 { fix(size - 15 + place, 8, bit(place)) }
        fix(size - 8, 8, true)
    }

    /// Draws the version, from version 7 on, twice, with twelve bits of a Golay code.
    private mutating func drawVersion() {
        guard version >= 7 else { return }
        var rest = version
        for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1F25 }
        let bits = version << 12 | rest
        for place in 0..<18 {
            let isDark = bits >> place & 1 == 1
            fix(size - 11 + place % 3, place / 3, isDark)
            fix(place / 3, size - 11 + place % 3, isDark)
        }
    }

    // MARK: Codewords

    /// Draws the codewords in pairs of columns from the right, alternately upwards and downwards, without the column of
    /// the timing pattern.
    private mutating func draw(_ codewords: [UInt8]) {
        var place = 0
        var isUpward = true
        var right = size - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<size {
                let row = isUpward ? size - 1 - step : step
                for column in [right, right - 1] where !isFixed[row][column] && place < codewords.count * 8 {
                    dark[row][column] = codewords[place / 8] >> UInt8(7 - place % 8) & 1 == 1
                    place += 1
                }
            }
            isUpward.toggle()
            right -= 2
        }
    }

    // MARK: The choice of a mask

    /// A measure of how much a picture misleads readers: long lines, squares, patterns like a finder, and too much of
    /// one colour.
    var penalty: Int {
        let columns = (0..<size).map { column in dark.map { $0[column] } }
        var points = 0
        for line in dark + columns { points += Self.penalty(of: line) }
        for row in 0..<size - 1 {
            for column in 0..<size - 1 {
                let first = dark[row][column]
                if dark[row][column + 1] == first, dark[row + 1][column] == first, dark[row + 1][column + 1] == first {
                    points += 3
                }
            }
        }
        let count = dark.reduce(0) { $0 + $1.count(where: \.self) }
        return points + abs(count * 20 - size * size * 10) / (size * size) * 10
    }

    private static let finder = [true, false, true, true, true, false, true]
    private static let margin = [false, false, false, false]
    private static let likeFinder = [finder + margin, margin + finder]

    private static func penalty(of line: [Bool]) -> Int {
        var points = 0
        var length = 0
        for place in line.indices {
            length = place > 0 && line[place] == line[place - 1] ? length + 1 : 1
            if length == 5 { points += 3 } else if length > 5 { points += 1 }
        }
        for start in 0...line.count - 11 {
            if likeFinder.contains(where: { $0.elementsEqual(line[start..<start + 11]) }) { points += 40 }
        }
        return points
    }
}
