import TestSupport
import Testing

@testable import Runs

struct TextAssemblerTests {
    private func text(_ assembler: TextAssembler) -> String {
        String(decoding: assembler.text, as: UTF8.self)
    }

    @Test func `pieces find their places in any order, each once`() {
        var random = SeededRandom(3)
        let pieces = (0..<ActivityLimits.reorderWindow).map { (Int64($0 + 1), Array("w\($0) ".utf8)) }
        let expected = (0..<ActivityLimits.reorderWindow).map { "w\($0) " }.joined()
        for _ in 0..<20 {
            var assembler = TextAssembler(.messages)
            for (sequence, bytes) in (pieces + pieces).shuffled(using: &random) {
                assembler.take(.piece(bytes[...]), sequence: sequence)
            }
            #expect(text(assembler) == expected)
        }
    }

    @Test func `a long stream of pieces keeps its text and little else`() {
        var assembler = TextAssembler(.messages)
        for number in 0..<5_000 { assembler.take(.piece(ArraySlice("x\(number % 10)".utf8)), sequence: Int64(number)) }
        #expect(assembler.open.count == 10_000)
        // A piece from long before is not put in any more.
        assembler.take(.piece(ArraySlice("late".utf8)), sequence: 2)
        #expect(assembler.open.count == 10_000)
    }

    @Test func `a shorter text of the same message tells nothing`() {
        var assembler = TextAssembler(.messages)
        assembler.take(.sofar(ArraySlice("Hello world".utf8)), sequence: 5)
        assembler.take(.sofar(ArraySlice("Hello".utf8)), sequence: 6)
        #expect(text(assembler) == "Hello world")
    }

    @Test func `text that goes on over messages is not doubled`() {
        var assembler = TextAssembler(.messages)
        assembler.take(.sofar(ArraySlice("Let me look.".utf8)), sequence: 1)
        assembler.take(.sofar(ArraySlice("It says".utf8)), sequence: 2)
        assembler.take(.sofar(ArraySlice("Let me look.It says tea.".utf8)), sequence: 3)
        #expect(text(assembler) == "Let me look.\n\nIt says tea.")
    }

    @Test func `a whole text ends what came before it`() {
        var assembler = TextAssembler(.whole)
        assembler.take(.sofar(ArraySlice("Let me look.".utf8)), sequence: 1)
        assembler.take(.piece(ArraySlice(" Now".utf8)), sequence: 2)
        assembler.take(.sofar(ArraySlice("It".utf8)), sequence: 4)
        assembler.take(.piece(ArraySlice(" late".utf8)), sequence: 3)
        #expect(text(assembler) == "It")
    }
}
