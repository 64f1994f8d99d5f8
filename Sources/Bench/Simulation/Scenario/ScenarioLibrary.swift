/// The scenarios that are part of the program: `Sources/Bench/Simulation/Scenarios`.
public enum ScenarioLibrary {
    static let fileEnding = ".scenario"

    /// In alphabetical order.
    public static let names = files.keys.sorted()

    /// The scenario with this name, or the one in a file: what has a `/` in it or ends in `.scenario` is a path.
    public static func scenario(named name: String) throws(ScenarioError) -> Scenario {
        if name.contains("/") || name.hasSuffix(fileEnding) { return try Scenario(contentsOf: name) }
        guard let bytes = files[name] else {
            throw ScenarioError(
                file: name, line: nil, expected: "a scenario of the library, or a path to a \(fileEnding) file",
                found: "neither")
        }
        return try Scenario(parsing: bytes, name: name, file: name + fileEnding)
    }

    /// All of them, in the order of their names.
    public static func all() throws(ScenarioError) -> [Scenario] {
        var scenarios: [Scenario] = []
        for name in names { scenarios.append(try scenario(named: name)) }
        return scenarios
    }
}
