import Basics
import Testing

struct DeadlineHeapTests {
    @Test func `items come by time, and of one time in the order in which they were inserted`() {
        var heap = DeadlineHeap<Int>()
        for number in 0..<500 { heap.insert(number, at: Int64((number * 7919) % 101)) }
        heap.keep { $0 % 3 != 0 }
        #expect(heap.popDue(-1) == nil)
        var popped: [Int] = []
        while let number = heap.popDue(1000) { popped.append(number) }
        let expected = (0..<500).filter { $0 % 3 != 0 }.sorted { (($0 * 7919) % 101, $0) < (($1 * 7919) % 101, $1) }
        #expect(popped == expected)
        #expect(heap.first == nil)
        #expect(heap.count == 0)
    }
}
