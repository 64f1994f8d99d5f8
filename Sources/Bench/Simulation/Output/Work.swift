/// The same thing to be done for many items, some at once.
struct Work<Items: Sequence, Result: Sendable> where Items.Element: Sendable {
    private let items: Items
    private let work: @Sendable (Items.Element) -> Result

    init(_ items: Items, work: @escaping @Sendable (Items.Element) -> Result) {
        self.items = items
        self.work = work
    }

    /// - Parameter take: called with each item and what came of it, in whatever order they are done.
    func run(jobs: Int, take: (Items.Element, Result) -> Void) async {
        await withTaskGroup(of: (Items.Element, Result).self) { [work] group in
            var waiting = items.makeIterator()
            func begin() {
                guard let item = waiting.next() else { return }
                group.addTask { (item, work(item)) }
            }
            for _ in 0..<jobs { begin() }
            while let (item, result) = await group.next() {
                begin()
                take(item, result)
            }
        }
    }
}
