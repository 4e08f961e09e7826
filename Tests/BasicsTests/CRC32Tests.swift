import Basics
import Testing

struct CRC32Tests {
    @Test func `the check value of the catalogue comes out`() {
        #expect(CRC32.of(Array("123456789".utf8)[...]) == 0xCBF4_3926)
        #expect(CRC32.of([]) == 0)
    }
}
