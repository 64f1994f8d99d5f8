extension CheckResult {
    /// One line for a terminal, and more where the check failed.
    /// - Parameter paint: colours a word by the ANSI code of its colour, or leaves it.
    public func text(_ paint: (String, _ colour: Int) -> String = { text, _ in text }) -> String {
        switch outcome {
        case .passed: return "\(paint("passed", 32))   \(id): \(title)"
        case .skipped(let why): return "\(paint("skipped", 33))  \(id): \(why)"
        case .failed(let expected, let got, let exchange):
            let lines = [
                "\(paint("FAILED", 31))   \(id): \(title)", "         promised in Docs/protocol.md, \(section)",
                "         expected \(expected)", "         got      \(got)",
            ]
            return (lines + exchange.map { "           \($0)" }).joined(separator: "\n")
        }
    }
}

extension Report {
    /// What there is to say at the end.
    public var summary: String {
        let seconds = took.components.seconds
        var lines = [
            "\(deviceId), firmware \(firmware), at \(endpoint):",
            "\(passed) passed, \(failed) failed, \(skipped) skipped, in \(seconds) s.",
        ]
        let names = results.filter(\.outcome.isFailed).map(\.id)
        if !names.isEmpty { lines.append("Failed: \(names.joined(separator: ", ")).") }
        if !unseenCodes.isEmpty { lines.append("Errors that were not seen: \(unseenCodes.joined(separator: ", ")).") }
        return lines.joined(separator: "\n")
    }
}
