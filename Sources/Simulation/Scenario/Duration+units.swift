import AgentModel

extension Duration {
    /// As a scenario file writes it: `1h30m`.
    var inUnits: String {
        let units: [(String, Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
        var rest = milliseconds
        var text = ""
        for (name, length) in units where rest >= length {
            text += "\(rest / length)\(name)"
            rest %= length
        }
        return text.isEmpty ? "0s" : text
    }
}
