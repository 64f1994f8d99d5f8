/// Finds what may have been meant by a name that does not exist.
public struct NearbyNames: Sendable {
    private let names: [String]

    public init(_ names: [String]) { self.names = names }

    /// At most three names: those that contain the text, else those that differ in few letters.
    public func nearest(to text: String) -> [String] {
        let text = String(text.lowercased().prefix(100))
        let containing = text.count > 1 ? names.filter { $0.contains(text) } : []
        let limit = max(2, text.count / 3)
        let similar = names.map { (name: $0, distance: Self.distance(text, $0)) }.filter { $0.distance <= limit }
            .sorted { $0.distance < $1.distance }.map(\.name)
        return Array((containing.isEmpty ? similar : containing).prefix(3))
    }

    /// How many letters have to be inserted, removed or replaced (Levenshtein).
    private static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (index, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
