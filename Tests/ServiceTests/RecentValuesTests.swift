import Testing

@testable import Service

struct RecentValuesTests {
    @Test func `the newest values are remembered, and never many more`() {
        var values = RecentValues<String, Int>(atLeast: 100)
        for number in 0..<1_000 {
            values["\(number)"] = number
            #expect(values["\(max(0, number - 99))"] != nil)
            #expect(values.count <= 201)
        }
        #expect(values["700"] == nil)
    }

    @Test func `a value that is set again is new, and one that is taken out is gone`() {
        var values = RecentValues<String, Int>(atLeast: 3)
        values["kept"] = 1
        for number in 0..<20 {
            values["\(number)"] = number
            values["kept"] = number
        }
        #expect(values["kept"] == 19)
        values["kept"] = nil
        #expect(values["kept"] == nil)
    }
}
