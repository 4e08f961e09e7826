/// Small pictures of numbers, made of characters.
enum Sparkline {
    private static let heights = Array("▁▂▃▄▅▆▇█")

    /// A column for each number, the largest one full. Zero is the lowest column.
    static func text(_ numbers: [Int64]) -> String {
        let most = numbers.max() ?? 0
        guard most > 0 else { return String(repeating: heights[0], count: numbers.count) }
        return String(
            numbers.map { number in
                let share = Double(max(0, number)) / Double(most)
                return heights[min(heights.count - 1, Int((share * Double(heights.count - 1)).rounded(.up)))]
            }
        )
    }

    /// A bar of so many columns, filled to a share in hundredths.
    static func bar(_ percent: Double, width: Int) -> String {
        let share = min(max(percent.isFinite ? percent : 0, 0), 100) / 100
        let filled = Int((share * Double(width)).rounded())
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    /// `384k`, `1.2M`.
    static func amount(_ number: Int64) -> String {
        switch number {
        case ..<1000: "\(max(0, number))"
        case ..<1_000_000: "\(number / 1000)k"
        case ..<1_000_000_000: "\(number / 1_000_000).\(number / 100_000 % 10)M"
        default: "\(number / 1_000_000_000)G"
        }
    }
}
