/// Names and values under one another.
struct FactList {
    private var facts: [(name: String, value: String)] = []

    mutating func add(_ name: String, _ value: String) { facts.append((name, value)) }

    func render(_ style: Style) -> String {
        let width = facts.map(\.name.columns).max() ?? 0
        return facts.map { fact in
            let padding = String(repeating: " ", count: width - fact.name.columns)
            return "  " + style.paint(fact.name, .dim) + padding + "  " + fact.value
        }.joined(separator: "\n")
    }
}
