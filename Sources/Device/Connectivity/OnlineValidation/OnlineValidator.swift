import AgentModel

/// Checks if a network has internet access, by querying the configured server.
public struct OnlineValidator: Sendable {
    /// Maximum size of a body in bytes. Longer bodies are unexpected.
    static let bodyLimit = 4096
    /// Measured TCP and IPv4 headers of ten packets, in bytes.
    static let connectionCost = 540

    public let source: ValidationSource
    private let client = WebClient()

    public init(source: ValidationSource) { self.source = source }

    /// Sends one query. The finding includes all failures.
    /// - Parameter limit: time for name, connection and answer together.
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

    /// Maximum part of the body to read. It suffices to detect a foreign page.
    private var body: WebLimits.Body {
        switch source.expected {
        case .status: .first(1)
        case .body: .first(Self.bodyLimit)
        }
    }
}

/// Result of a check of the internet access, with its cost.
public struct ValidationCheck: Sendable, Equatable {
    public let finding: ValidationFinding
    /// Bytes in both directions, with an allowance for TCP and IP.
    public let cost: Int

    public init(finding: ValidationFinding, cost: Int) { (self.finding, self.cost) = (finding, cost) }
}

extension ValidationFinding {
    /// Decides like NetworkManager, Android and Chromium. Docs/integrator/connectivity.md explains where they differ.
    init(_ answer: WebAnswer, expected: ValidationSource.Expectation) {
        switch answer.status {
        // With status 511, the network requires a sign-in (RFC 6585, 6).
        case 511: self = .captive(portal: nil)
        case 300...399: self = .captive(portal: answer.location?.description)
        case 200...299 where answer.isAsExpected(expected): self = .online
        // An empty page has no sign-in, so it comes from a broken proxy.
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

/// The server that checks internet access, and its expected answer. There is no default server.
public struct ValidationSource: Sendable, Equatable {
    /// The expected answer of the server.
    public enum Expectation: Sendable, Equatable {
        /// Status from 200 to 299.
        case status(Int)
        /// A successful answer with this text, without trailing white space.
        case body(String)
    }

    public static let defaultStatus = 204
    /// Maximum length of an expected body in bytes.
    public static let maximumBodyLength = 1024

    public let address: WebAddress
    public let expected: Expectation

    /// - Parameters:
    ///   - url: begins with `http://`.
    ///   - status: 200 to 299 as text; nil for 204, unless `body` is given.
    ///   - body: expected body of 1 to 1024 bytes; nil to check the status only.
    /// - Throws: `InvalidValidationSource`, whose description says what to do.
    public init(url: String, status: String? = nil, body: String? = nil) throws(InvalidValidationSource) {
        do {
            address = try WebAddress(url)
        } catch {
            throw .url(error)
        }
        // Refuses https, because a captive network cannot replace the answer of an authenticated server.
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

/// An invalid setting of the server or of its answer.
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
            "the validation URL must begin with http://: over https:// a captive network looks like a "
                + "broken one"
        case .status: "the validation status must be from 200 to 299, such as \(ValidationSource.defaultStatus)"
        case .body: "the validation body must be 1 to \(ValidationSource.maximumBodyLength) bytes of text"
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
