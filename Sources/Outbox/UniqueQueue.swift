/// First in, first out, each element at most once.
struct UniqueQueue<Element: Hashable & Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0
    private var members: Set<Element> = []

    mutating func append(_ element: Element) {
        guard members.insert(element).inserted else { return }
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        while head < elements.count {
            let element = elements[head]
            head += 1
            if head > 1_024, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
            if members.remove(element) != nil { return element }
        }
        elements.removeAll(keepingCapacity: true)
        head = 0
        return nil
    }

    mutating func removeAll() {
        elements.removeAll()
        members.removeAll()
        head = 0
    }
}
