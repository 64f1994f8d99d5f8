/// What is wrong in a scenario file, where, and what is expected there.
public struct ScenarioError: Error, Hashable, CustomStringConvertible {
    /// As it was asked for.
    public let file: String
    /// Counted from 1; nil where the file as a whole is meant.
    public let line: Int?
    public let expected: String
    public let found: String

    public init(file: String, line: Int?, expected: String, found: String) {
        self.file = file
        self.line = line
        self.expected = expected
        self.found = found
    }

    public var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return "\(place): expected \(expected), found \(found)"
    }
}
