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
    public func look(through network: InterfaceNetwork, within limit: Duration) async -> ValidationCheck {
        let exchange = await client.exchange(
            WebRequest(.get, source.address), through: network, limits: WebLimits(time: limit, body: body))
        let finding: ValidationFinding =
            switch exchange.result {
            case .success(let answer): ValidationFinding(answer, expected: source.expected)
            case .failure(let failure): .failed(failure.problem)
            }
        return ValidationCheck(finding: finding, cost: exchange.bytes + Self.connectionCost)
    }

    /// Of a foreign page no more than what shows that it is one.
    private var body: WebLimits.Body {
        switch source.expected {
        case .status: .first(1)
        case .body: .first(Self.bodyLimit)
        }
    }
}

/// A finding, and what it cost.
public struct ValidationCheck: Sendable, Equatable {
    public let finding: ValidationFinding
    /// In bytes, both directions, with an allowance for what TCP and IP need around it.
    public let cost: Int

    public init(finding: ValidationFinding, cost: Int) { (self.finding, self.cost) = (finding, cost) }
}

extension ValidationFinding {
    /// As NetworkManager, Android and Chromium decide it; where they differ, Docs/contributor/decisions.md says why so.
    init(_ answer: WebAnswer, expected: ValidationSource.Expectation) {
        switch answer.status {
        // RFC 6585, 6: the network itself says so.
        case 511: self = .captive(portal: nil)
        case 300...399: self = .captive(portal: answer.location?.description)
        case 200...299 where answer.isAsExpected(expected): self = .online
        // There is no sign-in on an empty page: it comes of a broken proxy.
        case 200...299 where answer.body.isEmpty: self = .failed(.unexpectedAnswer)
        case 200...299: self = .captive(portal: nil)
        default: self = .failed(.unexpectedAnswer)
        }
    }
}

extension WebAnswer {
    fileprivate func isAsExpected(_ expected: ValidationSource.Expectation) -> Bool {
        switch expected {
        case .status(let status): self.status == status
        case .body(let text): isWhole && String(validating: body, as: UTF8.self)?.trimmingEnd() == text
        }
    }
}

/// The server to ask whether a network leads to the internet, and the answer that it has to give. It is the maker's
/// own: there is none by default.
public struct ValidationSource: Sendable, Equatable {
    public enum Expectation: Sendable, Equatable {
        /// 200 to 299.
        case status(Int)
        /// A successful answer with this text; white space at its end does not count.
        case body(String)
    }

    public static let defaultStatus = 204
    /// In bytes.
    public static let maximumBodyLength = 1024

    public let address: WebAddress
    public let expected: Expectation

    /// - Parameters:
    ///   - url: begins with `http://`.
    ///   - status: 200 to 299, as a user writes it; nil for 204, unless a body is given.
    ///   - body: the expected content of the answer; nil if its status alone decides.
    /// - Throws: `InvalidValidationSource`, which says what to do.
    public init(url: String, status: String? = nil, body: String? = nil) throws(InvalidValidationSource) {
        do {
            address = try WebAddress(url)
        } catch {
            throw .url(error)
        }
        // A captive network cannot answer in the place of a server that proves its identity.
        guard address.scheme == .http else { throw .encrypted }
        switch (status, body) {
        case (_?, _?): throw .statusAndBody
        case (nil, let body?):
            let expectation = body.trimmingEnd()
            guard (1...Self.maximumBodyLength).contains(expectation.utf8.count) else { throw .body }
            expected = .body(expectation)
        case (let status, nil):
            guard let status else {
                expected = .status(Self.defaultStatus)
                return
            }
            guard status.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(status),
                (200...299).contains(status)
            else { throw .status }
            expected = .status(status)
        }
    }
}

/// Why there is no source of validation.
public enum InvalidValidationSource: Error, Equatable, CustomStringConvertible {
    case url(InvalidWebAddress)
    case encrypted
    case status
    case body
    case statusAndBody

    public var description: String {
        switch self {
        case .url(let reason): "the validation URL cannot be used: \(reason); write it as http://HOST/PATH"
        case .encrypted:
            "the validation URL has to begin with http://, for over https:// a captive network "
                + "cannot be told from a broken one"
        case .status: "the validation status is a number from 200 to 299, such as \(ValidationSource.defaultStatus)"
        case .body: "the validation body is 1 to \(ValidationSource.maximumBodyLength) bytes of text"
        case .statusAndBody: "set the validation status or the validation body, not both"
        }
    }
}

extension String {
    func trimmingEnd() -> String {
        guard let last = unicodeScalars.lastIndex(where: { !" \t\r\n".unicodeScalars.contains($0) }) else { return "" }
        return String(unicodeScalars[...last])
    }
}
