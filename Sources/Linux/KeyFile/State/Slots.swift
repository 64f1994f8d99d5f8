/// Gives values places that each keeps for as long as it is there, so that nothing is written again because something else
/// came or went.
struct Slots<Value: Equatable> {
    private(set) var values: [UInt8: Value] = [:]

    /// Says in a cell that there is no value.
    static var none: UInt8 { .max }

    /// - Parameter old: where the values were before, those that are gone among them.
    init(of values: [Value], keeping old: [UInt8: Value]) {
        for (slot, value) in old.sorted(by: { $0.key < $1.key }) where values.contains(value) && self[value] == nil {
            self.values[slot] = value
        }
        for value in values where self[value] == nil {
            // A valid state has far fewer values than there are slots.
            guard let free = (0..<Self.none).first(where: { self.values[$0] == nil }) else { return }
            self.values[free] = value
        }
    }

    subscript(value: Value) -> UInt8? { values.first { $0.value == value }?.key }
}
