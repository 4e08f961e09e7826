import Basics
import Testing

struct PartitioningIndexTests {
    @Test(arguments: 0...9)
    func `the turn is found wherever it is`(count: Int) {
        let numbers = Array(0..<count)
        for turn in 0...count {
            #expect(numbers.partitioningIndex { $0 >= turn } == turn)
        }
    }

    @Test func `a slice keeps its own indices`() {
        let slice = [10, 20, 30, 40, 50][2...]
        #expect(slice.partitioningIndex { $0 >= 40 } == 3)
        #expect(slice.partitioningIndex { $0 >= 10 } == 2)
        #expect(slice.partitioningIndex { $0 >= 60 } == 5)
    }

    @Test func `of equal elements the first is meant`() {
        #expect([1, 2, 2, 2, 3].partitioningIndex { $0 >= 2 } == 1)
    }
}
