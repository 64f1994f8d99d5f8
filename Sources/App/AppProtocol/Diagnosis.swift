/// What was found when every layer was looked at in turn: the answer to `diagnosis.get`.
public struct Diagnosis: Sendable, Equatable, Codable {
    public enum Layer: String, Sendable, CaseIterable, Codable {
        case radio, association, address, gateway, names, internet, target
    }

    public enum Result: String, Sendable, CaseIterable, Codable {
        case good
        case broken
        /// It works, and not as well as it should.
        case doubtful
        /// Not looked at, because a layer below is broken or nothing of the kind is set.
        case skipped
    }

    public struct Step: Sendable, Equatable, Codable {
        public var layer: Layer
        public var result: Result
        /// What was found, in words, without secrets.
        public var found: String
        /// What to do about it; nil where nothing is to be done.
        public var remedy: String?

        public init(layer: Layer, result: Result, found: String, remedy: String? = nil) {
            self.layer = layer
            self.result = result
            self.found = found
            self.remedy = remedy
        }
    }

    /// From the radio upwards; of targets one for each.
    public var steps: [Step]
    /// When it was made: who asks soon after somebody else is given the same one.
    public var checked: Timestamp?

    public init(steps: [Step], checked: Timestamp? = nil) { (self.steps, self.checked) = (steps, checked) }

    /// Whether nothing was found broken.
    public var isGood: Bool { !steps.contains { $0.result == .broken } }
}
