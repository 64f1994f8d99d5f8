import AgentModel

/// Finds out whether a network leads to the internet, by asking the source that was set.
public struct OnlineValidator: Sendable {
    /// Of the answer's body, in bytes: whatever is longer is not what was expected.
    static let bodyLimit = 4096
    /// Ten packets' headers of TCP and IPv4, as they were measured.
    static let connectionCost = 540

    public let source: ValidationSource
    private let client = WebClient()

    public init(source: ValidationSource) { self.source = source }

    /// Asks once. Never fails otherwise than by its finding.
    ///
    /// - Parameter limit: for the name, the connection and the answer together.
    public func look(through network: InterfaceNetwork, within limit: Duration) async -> ValidationLook {
        let exchange = await client.exchange(
            WebRequest(.get, source.address), through: network, limits: WebLimits(time: limit, body: body))
        let finding: ValidationFinding =
            switch exchange.result {
            case .success(let answer): ValidationFinding(answer, expected: source.expected)
            case .failure(let failure): .failed(failure.problem)
            }
        return ValidationLook(finding: finding, cost: exchange.bytes + Self.connectionCost)
    }

    /// Of a foreign page no more than what shows that it is one.
    private var body: WebLimits.Body {
        switch source.expected {
        case .status: .first(1)
        case .body: .first(Self.bodyLimit)
        }
    }
}
