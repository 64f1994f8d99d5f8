import Failover

extension FailoverPolicy {
    /// How many elements all of its collections have, at any depth: all that can grow in it.
    package var elementCount: Int { countElements(of: self) }
}

/// Counts the elements of all collections in a value, at any depth.
package func countElements(of value: Any) -> Int {
    let mirror = Mirror(reflecting: value)
    let own =
        switch mirror.displayStyle {
        case .collection, .set, .dictionary: mirror.children.count
        default: 0
        }
    return mirror.children.reduce(own) { $0 + countElements(of: $1.value) }
}
