/// Something to be reached, and how far it was.
public struct Goal: Codable, Sendable {
    public let text: String
    public let measured: Double
    public let unit: String
    public let isMet: Bool

    public init(text: String, measured: Double, unit: String, isMet: Bool) {
        self.text = text
        self.measured = measured
        self.unit = unit
        self.isMet = isMet
    }
}

extension Table {
    /// All goals and whether they were met.
    public init(goals: [Goal]) {
        self.init(
            columns: ["Goal", "measured", ""],
            rows: goals.map { [$0.text, "\($0.measured.rounded(2)) \($0.unit)", $0.isMet ? "met" : "missed"] })
    }
}
